"""What other programs talk to: the reward, HTTP, protocols."""
