"""The law of answers put to the test: what it promises and keeps, what each way of asking costs, and Kelly's sets."""
