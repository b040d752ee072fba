"""The blocks of the transcript: one class for each kind of thing that is shown there."""
