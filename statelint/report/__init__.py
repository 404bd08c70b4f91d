"""Diagnostics to text, one format a file."""

from __future__ import annotations

import importlib

from statelint.report.base import Fixed, Look, ProbeReport, Render, Report

FORMATS = ("text", "concise", "json", "github", "gitlab", "sarif", "junit", "rdjson", "pylint")
"""The formats; each is the module of its name in this folder, which holds ``render``."""

__all__ = ["FORMATS", "Fixed", "Look", "ProbeReport", "Render", "Report", "renderer"]


def renderer(name: str) -> Render:
    """The format of that name."""
    render: Render = importlib.import_module(f"{__name__}.{name}").render
    return render
