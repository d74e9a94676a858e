"""Many samples: threads, worker processes or a Ray cluster grade them; resume and interrupt."""
