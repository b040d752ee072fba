"""Packages: bundles of skills, prompt templates, themes and extensions from git, package indexes and folders."""
