"""Exports of annotation tools: Label Studio and Prodigy."""
