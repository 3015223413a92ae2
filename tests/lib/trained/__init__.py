"""Trained models that packages ship: where they come from (packages), what is fed to them (pictures, sounds, words), what they are for
(answers), and a table of all of it (models)."""
