"""Chooses the tier of a message for `/tier auto`, in any language and without a model call.

Certain features that don't depend on a language (code fences, stack traces, proofs) count first. `phrases.tsv`, written
for this project, has phrases for about forty ideas in more than thirty languages. A linear classifier weighs them
together with the words of the message.

Its weights were made by `benchmarks.training.auto_tier` from messages written for this project, and from utterances of
CLINC150 (Larson et al. 2019, CC BY 3.0), SLURP (Bastianelli et al. 2020, CC BY 4.0) and HWU64 (Liu et al. 2019, CC BY
4.0), which were chosen at random and turned into weights."""
