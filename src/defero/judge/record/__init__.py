"""The record of a team on held-out cases: members, panels, cautions."""
