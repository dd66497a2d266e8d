"""`./dev bench media --files FOLDER`: tries real and broken files as uploads, and tells what became of each."""
