"""The passport of what is selected."""
