"""One loader per public data set."""
