"""How a network is fitted: full-batch L-BFGS for linear models, mini-batch AdamW with early stopping for the others."""
