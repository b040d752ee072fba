"""What programs test their agents with: a scripted model and fake provider servers."""
