"""Long trainings in order of priority, within a time limit: CIFAR-10 with many experts, HAM10000, picture features."""
