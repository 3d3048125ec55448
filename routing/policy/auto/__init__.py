"""Chooses the tier of a message for `/tier auto`, in any language and without a model call.

Features that don't depend on a language (code fences, stack traces, formulas, length, questions, earlier turns) count
first. `phrases.tsv`, written for this project, has phrases for about forty ideas in more than thirty languages."""
