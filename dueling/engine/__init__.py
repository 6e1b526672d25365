"""How it runs: checks, algorithms, the compiler, many runs, their results."""
