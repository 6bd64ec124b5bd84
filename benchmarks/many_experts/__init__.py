"""Many experts, one network: what each loss and each cure costs the classifier (CIFAR-10, 4, 12 and 20 experts)."""
