"""What is proved: bounds, hypotheses on tables, exact laws, and the sums of the proofs."""
