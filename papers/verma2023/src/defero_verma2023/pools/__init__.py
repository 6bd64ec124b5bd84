"""The paper's pools of experts, each as the text has it and as the authors ran it."""
