(* Statements of the book that speak of every number of rounds, epochs or arms, checked by Coq.

   A theorem's twin is a slightly stronger statement that is false; Coq has checked its refutation.
   [make formal] checks this file and writes checked.json, which the book's pages read. *)
Require Import Reals Lra Lia Psatz Arith.
Open Scope R_scope.

Fixpoint sum (f : nat -> R) (T : nat) : R :=
  match T with O => 0 | S t => sum f t + f t end.

Lemma sum_ext : forall f g T, (forall t, (t < T)%nat -> f t = g t) -> sum f T = sum g T.
Proof.
  induction T; intros H; simpl; [reflexivity|].
  rewrite IHT, H; [reflexivity | lia | intros t Ht; apply H; lia].
Qed.

Lemma sum_plus : forall f g T, sum (fun t => f t + g t) T = sum f T + sum g T.
Proof. induction T; simpl; lra. Qed.

Lemma sum_le : forall f g T, (forall t, f t <= g t) -> sum f T <= sum g T.
Proof. induction T; intros H; simpl; [lra|]. specialize (IHT H). specialize (H T). lra. Qed.

(* --- The game *)

(* Observation 2.1: the chosen item is worth at least the average of the two. *)
Theorem observation_2_1 : forall u v p,
  0 <= p <= 1 -> (v < u -> 1/2 <= p) -> (u < v -> p <= 1/2) ->
  (u + v) / 2 <= u * p + v * (1 - p).
Proof.
  intros u v p Hp Hu Hv. destruct (Rtotal_order u v) as [H | [H | H]].
  - specialize (Hv H). nra.
  - subst. lra.
  - specialize (Hu H). nra.
Qed.

(* Without the orientation of the link it is false. *)
Theorem observation_2_1_twin : ~ forall u v p,
  0 <= p <= 1 -> (u + v) / 2 <= u * p + v * (1 - p).
Proof. intro H. specialize (H 1 0 0). lra. Qed.

(* --- UCB *)

(* A suboptimal arm is not pulled when the best arm's bar covers its mean, the arm's own estimate is
   not above its bar, and the bar is at most half the gap. *)
Theorem three_events : forall best mean estimate_best estimate bar_best bar,
  estimate_best + bar_best > best -> estimate < mean + bar -> 2 * bar <= best - mean ->
  estimate + bar < estimate_best + bar_best.
Proof. intros; lra. Qed.

Theorem three_events_twin : ~ forall best mean estimate_best estimate bar_best bar,
  estimate_best + bar_best > best -> estimate < mean + bar -> bar <= best - mean ->
  estimate + bar < estimate_best + bar_best.
Proof. intro H. specialize (H 1 0 0 (9/10) (11/10) 1). lra. Qed.

(* --- Doubler *)

(* After k epochs of 2, 4, 8, ... rounds there were 2^(k+1) - 2 rounds. *)
Theorem doubler_rounds : forall k, sum (fun i => 2 ^ S i) k = 2 ^ S k - 2.
Proof. induction k; [simpl; lra|]. cbn [sum]. rewrite IHk. simpl. lra. Qed.

Theorem doubler_rounds_twin : ~ forall k, sum (fun i => 2 ^ S i) k = 2 ^ S k - 1.
Proof. intro H. specialize (H 0%nat). simpl in H. lra. Qed.

Lemma power_step : forall a i, 0 <= i -> INR (S a) * i ^ a <= (i + 1) ^ S a - i ^ S a.
Proof.
  intros a i Hi. induction a; [simpl; lra|].
  assert (0 <= i ^ a) by (apply pow_le; lra).
  assert (i ^ S a <= (i + 1) ^ S a) by (apply pow_incr; lra).
  rewrite S_INR. simpl pow in *. nra.
Qed.

(* For every exponent a and number of epochs k: (a+1) (1^a + ... + k^a) <= (k+1)^(a+1) - 1. *)
Theorem doubler_sum : forall a k,
  INR (S a) * sum (fun i => INR (S i) ^ a) k <= INR (S k) ^ S a - 1.
Proof.
  intros a k. induction k.
  - cbn [sum]. rewrite Rmult_0_r. replace (INR 1) with 1 by reflexivity. rewrite pow1. lra.
  - cbn [sum]. pose proof (power_step a (INR (S k)) (pos_INR (S k))) as H.
    rewrite (S_INR (S k)). rewrite Rmult_plus_distr_l. lra.
Qed.

(* With k in place of k+1 it fails, already for a = 1 and one epoch. *)
Theorem doubler_sum_twin : ~ forall a k,
  INR (S a) * sum (fun i => INR (S i) ^ a) k <= INR k ^ S a.
Proof. intro H. specialize (H 1%nat 1%nat). simpl in H. lra. Qed.

(* --- MultiSBM: the left arm of a round is the right arm of the round before *)

Section MultiSBM.
  Variables x y : nat -> nat.
  Hypothesis copied : forall t, x (S t) = y t.

  (* Whatever is summed over the arms, both sides agree but for the first and the last round. *)
  Theorem multisbm_sides : forall (f : nat -> R) T,
    sum (fun t => f (x t)) (S T) = f (x 0%nat) + sum (fun t => f (y t)) T.
  Proof. intros f T. induction T; cbn [sum] in *; [lra|]. rewrite copied. lra. Qed.

  (* Observation C.1: the regret is that of the right arms, up to half a gap. *)
  Theorem observation_C_1 : forall gap, (forall a, 0 <= gap a <= 1) -> forall T,
    Rabs (sum (fun t => (gap (x t) + gap (y t)) / 2) T - sum (fun t => gap (y t)) T) <= 1/2.
  Proof.
    intros gap gaps T.
    assert (halves : sum (fun t => (gap (x t) + gap (y t)) / 2) T
      = (sum (fun t => gap (x t)) T + sum (fun t => gap (y t)) T) / 2)
      by (clear - x y; induction T; simpl; [lra | rewrite IHT; lra]).
    rewrite halves. destruct T; [simpl; rewrite Rabs_right; lra|].
    rewrite multisbm_sides. cbn [sum]. pose proof (gaps (x 0%nat)). pose proof (gaps (y T)).
    apply Rabs_le. lra.
  Qed.
End MultiSBM.

Theorem multisbm_sides_twin : ~ forall x y : nat -> nat, (forall t, x (S t) = y t) ->
  forall (f : nat -> R) T, sum (fun t => f (x t)) (S T) = sum (fun t => f (y t)) (S T).
Proof.
  intro H. specialize (H (fun t => t) S (fun t => eq_refl) INR 0%nat). simpl in H. lra.
Qed.

Theorem observation_C_1_twin : ~ forall x y : nat -> nat, (forall t, x (S t) = y t) ->
  forall gap, (forall a, 0 <= gap a <= 1) -> forall T,
  Rabs (sum (fun t => (gap (x t) + gap (y t)) / 2) T - sum (fun t => gap (y t)) T) <= 1/4.
Proof.
  intro H.
  specialize (H (fun t => t) S (fun t => eq_refl) (fun a => match a with O => 0 | _ => 1 end)).
  assert (gaps : forall a, 0 <= match a with O => 0 | S _ => 1 end <= 1) by (destruct a; lra).
  specialize (H gaps 1%nat). simpl in H. rewrite Rabs_left in H; lra.
Qed.

(* --- Champion: the left arm of an epoch is the arm played most on the right in the one before *)

Section Champion.
  Open Scope nat_scope.

  Fixpoint total (f : nat -> nat) (n : nat) : nat :=
    match n with O => 0 | S k => total f k + f k end.

  Lemma total_most : forall f m K, (forall a, a < K -> f a <= m) -> total f K <= K * m.
  Proof.
    induction K; intros H; simpl; [lia|].
    assert (f K <= m) by (apply H; lia).
    assert (total f K <= K * m) by (apply IHK; intros a Ha; apply H; lia). lia.
  Qed.

  Variable K : nat.
  Variable champion : nat -> nat.            (* the left arm of epoch i *)
  Variable plays : nat -> nat -> nat.        (* plays i a: how often a stood on the right in epoch i *)
  Hypothesis rounds : forall i, total (plays i) K = 2 ^ i.
  Hypothesis most : forall i a, a < K -> plays i a <= plays i (champion (S i)).

  Definition left (a i r : nat) : nat := if champion i =? a then r else 0.

  (* In the epoch before its own a champion was played in at least a share 1/K of the rounds. *)
  Lemma champion_share : forall i, 2 ^ i <= K * plays i (champion (S i)).
  Proof. intro i. rewrite <- rounds. apply total_most. apply most. Qed.

  (* Counting: arm a stood left in at most 1 + 2 K (its plays on the right) rounds, in any number of
     whole epochs and r rounds of the next. The 1 counts only if a was the first left arm. *)
  Theorem champion_count : forall a E r, r <= 2 ^ E ->
    total (fun i => left a i (2 ^ i)) E + left a E r
    <= left a 0 1 + 2 * K * total (fun i => plays i a) E.
  Proof.
    intros a E. unfold left. induction E; intros r Hr; simpl total.
    - simpl in Hr. destruct (champion 0 =? a); lia.
    - specialize (IHE (2 ^ E) (le_n _)). simpl in Hr.
      pose proof (champion_share E) as H.
      destruct (Nat.eqb_spec (champion (S E)) a) as [<- | _]; [|nia].
      nia.
  Qed.
End Champion.

(* One champion's share is not a share 2/K: with two arms that share the rounds K for 2 K fails. *)
Theorem champion_count_twin : ~ forall K champion plays,
  (forall i, total (plays i) K = (2 ^ i)%nat) ->
  (forall i a, (a < K)%nat -> (plays i a <= plays i (champion (S i)))%nat) ->
  forall a E r, (r <= 2 ^ E)%nat ->
  (total (fun i => left champion a i (2 ^ i)) E + left champion a E r
   <= left champion a 0 1 + K * total (fun i => plays i a) E)%nat.
Proof.
  intro H.
  specialize (H 1%nat (fun _ => 0%nat) (fun i _ => (2 ^ i)%nat)).
  assert (A : forall i, total (fun _ => (2 ^ i)%nat) 1 = (2 ^ i)%nat) by (intro; simpl; lia).
  specialize (H A (fun i a _ => le_n _) 0%nat 1%nat 2%nat (le_n 2)). cbv in H. lia.
Qed.

(* The condition on an epoch in Champion's proof, 2^i >= K (1 + c (i+1)), persists once it holds. *)
Theorem champion_persists : forall K c i, 0 <= K -> 0 <= c ->
  K * (1 + c * INR (S i)) <= 2 ^ i ->
  forall j, (i <= j)%nat -> K * (1 + c * INR (S j)) <= 2 ^ j.
Proof.
  intros K c i HK Hc Hi j Hj. induction Hj as [|j Hj IH]; [exact Hi|].
  rewrite (S_INR (S j)). simpl pow. pose proof (Rmult_le_pos K c HK Hc) as Hk.
  assert (1 <= INR (S j)) by (rewrite S_INR; pose proof (pos_INR j); lra). nra.
Qed.

(* With i in place of i+1 to begin with it does not follow. *)
Theorem champion_persists_twin : ~ forall K c i, 0 <= K -> 0 <= c ->
  K * (1 + c * INR i) <= 2 ^ i ->
  forall j, (i <= j)%nat -> K * (1 + c * INR (S j)) <= 2 ^ j.
Proof.
  intro H. specialize (H 1 1 0%nat). simpl in H.
  assert (X : 1 * (1 + 1 * 0) <= 1) by lra.
  specialize (H ltac:(lra) ltac:(lra) X 0%nat (le_n _)). simpl in H. lra.
Qed.

(* --- Sparring: in every round one of the two machines is fed 1 and the other 0 *)

Theorem sparring_rewards : forall (bit : nat -> R) T,
  sum (fun t => 1 - bit t) T + sum bit T = INR T.
Proof.
  induction T; [simpl; lra|]. rewrite S_INR. cbn [sum]. lra.
Qed.

Theorem sparring_rewards_twin : ~ forall (bit : nat -> R) T,
  sum bit T + sum bit T = INR T.
Proof. intro H. specialize (H (fun _ => 1) 1%nat). simpl in H. lra. Qed.
