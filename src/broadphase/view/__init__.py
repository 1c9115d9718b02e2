"""What is to be looked at: the live page, pictures, recordings. Modules need extras, and are imported late."""
