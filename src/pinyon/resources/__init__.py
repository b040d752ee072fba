"""What users bring: settings, context files and other resources of a project."""
