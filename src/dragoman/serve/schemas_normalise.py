"""What requests for modern spelling and their answers look like."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from dragoman.serve.schemas import Asked, Name


class NormaliseRequest(Asked):
    """Text in old spelling."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Vnd er gieng, vnnd kam.", "alternatives": 3}]})
    text: str = Field(description="Running text; spacing, punctuation and capital letters stay as they are.")
    model: Name = None
    alternatives: int = Field(default=5, ge=0, le=10, description="So many other forms of each word, at most.")


class Spelt(BaseModel):
    """A form that a word may have today, and how probable it is."""

    text: str
    confidence: float


class SpeltWord(BaseModel):
    """A word of the text, its modern form, how sure that is, and what else it may be, the most probable first."""

    word: str
    modern: str
    confidence: float
    alternatives: list[Spelt]


class SpeltLine(BaseModel):
    """The words of a line, and what stands before, between and behind them, which is one piece more."""

    words: list[SpeltWord]
    between: list[str]


class NormaliseAnswer(BaseModel):
    """The text in modern spelling, and its lines word by word."""

    model: str
    text: str
    lines: list[SpeltLine]
