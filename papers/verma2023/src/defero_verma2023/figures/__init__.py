"""The paper's figures: what each shows, and how it is drawn beside the published numbers."""
