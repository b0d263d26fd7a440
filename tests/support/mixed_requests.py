"""Fifty requests to an assistant for pages, each with the tools used before it and the mode that fits, labelled by
hand; and a prompt with five modes. The words of the modes were written down before the requests were tried."""

from playhead.context import Prompt, by_tools, by_words

_WORDS_PER_TOKEN = 0.8  # "word " has five bytes


def _filler(tokens: int) -> str:
    return ("word " * round(tokens * _WORDS_PER_TOKEN)).strip()


def five_mode_prompt() -> Prompt:
    """Modes of about 400, 700, 650, 600 and 550 tokens; all sections together have about 2,000."""
    sizes = {"core": 225, "talk": 175, "design": 475, "data": 425, "edit": 375, "help": 325}
    return Prompt(
        sections={name: f"# {name}\n{_filler(tokens)}" for name, tokens in sizes.items()},
        modes={
            "general": ["core", "talk"],
            "creation": ["core", "design"],
            "analysis": ["core", "data"],
            "editing": ["core", "edit"],
            "support": ["core", "help"],
        },
        choose=[
            by_words({
                "creation": ["creat*", "new", "build", "draft", "design", "add a page", "generate"],
                "analysis": ["why", "compare", "analy*", "how many", "trend*", "average", "report", "chart"],
                "editing": ["chang*", "edit", "rename", "remove", "delete", "replace", "fix", "move", "shorter"],
                "support": ["help", "error", "password", "log in", "login", "invoice", "broken", "refund", "cannot"],
            }),
            by_tools({
                "creation": ["add_page", "add_block"],
                "analysis": ["query", "plot"],
                "editing": ["edit_page", "delete_block"],
                "support": ["search_help", "open_ticket"],
            }),
        ],
    )  # fmt: skip


REQUESTS: list[tuple[str, list[str], str]] = [
    ("Hi there!", [], "general"),
    ("Create a landing page for our bakery", [], "creation"),
    ("Yes, that one", ["add_page"], "creation"),
    ("Now with three columns please", ["add_page", "add_block"], "creation"),
    ("Make the heading shorter", ["add_page"], "editing"),
    ("Why did sign-ups drop in March?", [], "analysis"),
    ("And in April?", ["query"], "analysis"),
    ("Show it as a chart", ["query"], "analysis"),
    ("I cannot log in since yesterday", [], "support"),
    ("It still says the code is wrong", ["search_help"], "support"),
    ("Thanks, bye", ["search_help"], "general"),
    ("What can you do?", [], "general"),
    ("Build me a page with our opening hours", [], "creation"),
    ("Replace the photo at the top", [], "editing"),
    ("Undo that", ["edit_page"], "editing"),
    ("Delete the second paragraph", ["edit_page"], "editing"),
    ("How many visitors came from Basel?", [], "analysis"),
    ("Compare that with last year", ["query"], "analysis"),
    ("My invoice is wrong", [], "support"),
    ("I want my money back", ["search_help"], "support"),
    ("Draft a newsletter about the summer sale", [], "creation"),
    ("A bit more cheerful", ["add_block"], "creation"),
    ("Rename the page to Summer", ["add_block"], "editing"),
    ("Who are you?", [], "general"),
    ("Is the average order larger on weekends?", [], "analysis"),
    ("Go on", ["query", "plot"], "analysis"),
    ("The form on the contact page is broken", [], "support"),
    ("Fix the typo in the footer", [], "editing"),
    ("Move the map above the form", ["edit_page"], "editing"),
    ("I need a page for job offers", [], "creation"),
    ("Add a page about our team", [], "creation"),
    ("Swap the two pictures", ["edit_page"], "editing"),
    ("What is the weather like?", [], "general"),
    ("Which page is read most?", [], "analysis"),
    ("List the worst ones, too", ["query"], "analysis"),
    ("Help, everything is gone", [], "support"),
    ("No, before that", ["open_ticket"], "support"),
    ("Generate a price list from this text", [], "creation"),
    ("Change the colour of the buttons to green", [], "editing"),
    ("Analyse the feedback of the last month", [], "analysis"),
    ("How do I reset my password?", [], "support"),
    ("Good morning", [], "general"),
    ("Design a poster for the open day", [], "creation"),
    ("Put the logo in the corner", ["add_page", "add_block"], "creation"),
    ("Cut it down to two sentences", ["edit_page"], "editing"),
    ("Tell me a joke", [], "general"),
    ("Do prices differ between the shops?", ["query"], "analysis"),
    ("Error 403 when I publish", [], "support"),
    ("Can I get a refund for May?", [], "support"),
    ("Who reads the news page, and when?", [], "analysis"),
]
