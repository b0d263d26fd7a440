"""What the mock model thinks in each scenario, model call by model call, when nothing goes wrong."""

REASONING = {
    "document_processing": [
        "The figures are what matters: revenue, growth, margin, price.",
        "Growth of 18 % at 14 times earnings is cheap; one large customer is the risk.",
        "The recommendation comes first, then the risks.",
    ],
    "ticket_routing": [
        "It is about a charge.",
        "Two equal charges: the second one goes back.",
        "Something in the app does not work.",
        "Error 17 is known, and 4.2.1 has the fix.",
        "Neither money nor the app.",
        "The opening hours answer it.",
    ],
    "code_review": [  # side by side: in any order
        "One query for each id; the database can find them all at once.",
        "The name says nothing, and the line has more than 80 characters.",
        "The user's name comes from outside and is put into the SQL text.",
    ],
    "tool_calling": [
        "I have to read the file.",
        "The tool has done it; I can answer.",
        "One line is wrong: the discount has to be taken off.",
        "The tool has done it; I can answer.",
        "Other files may use it, too.",
        "The tool has done it; I can answer.",
    ],
    "evaluator_optimizer": [
        "Something friendly about a lamp.",
        "Nothing in it tells this lamp from another.",
        "Concrete, then: what it is made of, and what it is for.",
        "Material, light and use are named, in one sentence.",
    ],
    "errors": [  # of the calls that were answered
        "That I can answer at once.",
        "That I can answer at once.",
        "I look the order up.",
        "The arguments have to be an object.",
        "There is its status.",
    ],
    "code_assistant": [
        "First I have to find where the discount is used.",
        "The function is in this file; I read it.",
        "It multiplies by the discount instead of taking it off.",
    ],
}
