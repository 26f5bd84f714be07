"""What requests for modern spelling and their answers look like."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from dragoman.normalisation.running_text import MarkupMode
from dragoman.serve.schemas import Asked, Name


class NormaliseRequest(Asked):
    """Text in old spelling."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Vnd er gieng, vnnd kam.", "alternatives": 3}]})
    text: str = Field(description="Running text; spacing, punctuation and markup stay as they are.")
    model: Name = None
    markup: MarkupMode = Field(
        default="auto", description="Keep tags and entities as they are (xml), take all for text (none), or look first."
    )
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
    """The text in modern spelling, its lines word by word, and whether it was taken for markup."""

    model: str
    text: str
    lines: list[SpeltLine]
    markup: bool
