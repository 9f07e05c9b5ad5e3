"""Texts that offices print, and what the page `dp_bayes.html` makes of each: numbers, or a question.

A rule stands with the texts that show it and with a reader that lacks it, which must fail them: a list is what the
engine is asked of, a code is what stands in the way of an answer. What one click settles is in CLICKS.
"""

import math
import shutil

from test_page import LAP, ROOT, files, node, read, taken, unlike

HIDDEN5 = "rounded to 5, below 5 hidden"
RULES = {  # what is said, options of the reader, its texts, and the reader without it: (file, right, wrong)
    "blanks between thousands": ({}, {
        f"312 290{LAP}": "blank",
        f"Population: 312 290{LAP}": "blank",
        f"12 345 678{LAP}": "blank",
        f"Elm: 1 250\nOak: 2 340{LAP}": "blank",
        "312\nLaplace, scale 1 250": "blank",
        f"312\u00a0290{LAP}": [None, 312290],
        f"312\u202f290 people{LAP}": [None, 312290],
    }, ("numbers.js", "if (!blank && / /u", "if (false && / /u")),
    "blanks that are sure": ({}, {
        f"45 000{LAP}": [None, 45000],
        f"1 000 312{LAP}": [None, 1000312],
        f"Elm: 1 250\nOak: 2\u00a0340{LAP}": ["Elm", 1250, "Oak", 2340],
    }, ("index.js", "chosen.blank ?? hasBlanks(text)", "chosen.blank ?? false")),
    "a blank before of": ({}, {
        f"1 250 of 45 000{LAP}": [None, 1250, 45000],
        f"12 045 von 45 000 Einwohnern{LAP}": [None, 12045, 45000],
    }, ("lines.js", "pair = nameless ? ", "pair = false ? ")),
    "blanks of the reader's language": ({"home": ",", "blanks": True}, {
        f"312 290{LAP}": [None, 312290],
        f"Elm: 1 250\nOak: 2 340{LAP}": "blank",
        f"1 250 of 312 290{LAP}": "blank",
    }, ("index.js", "if (gap && blanks && ", "if (false && ")),
    "blanks of more than one number": ({"home": ",", "blanks": True}, {
        "312 290\nLaplace, scale 1 250": "blank",
    }, ("index.js", "gap.facts.all.length === 1 && ", "")),
    "points in the size of the noise": ({"home": ","}, {
        "312\nLaplace, scale 2.000": "either",
        "312\nε = 1.000, sensitivity 1": "either",
        "12.450\nLaplace, scale 2.000": "either",
        "312\nLaplace, scale 2,5": [None, 312],
        "12.450\nLaplace, scale 20": [None, 12450],
        "12.450,5\nLaplace, scale 2.000": [None, 12450.5],
        "area;n;scale\nElm;45;2.000\nOak;31;2.000\nLaplace": "either",
        "area;n;scale\nElm;45;2,5\nOak;31;2,5\nLaplace": ["Elm", 45, "Oak", 31],
    }, ("index.js", "if (doubt.facts.unsure) return found;", "")),
    "thousands of ε": ({"home": "."}, {
        "312\nε = 1,000, sensitivity 1": "either",
        "312\nρ = 1,000, sensitivity 1": "either",
        "312\nε = 1, sensitivity 1,000": [None, 312],
    }, ("footnote.js", "unsure: budget || ", "unsure: ")),
    "commas in an English reader's texts": ({"home": "."}, {
        f"45,20{LAP}": "comma",
        f"Elm: 45,2{LAP}": "comma",
        "312\nLaplace, scale 2,000": [None, 312],
        "312\nLaplace, scale 2,5": [None, 312],
        "312\nLaplace, scale 2.000": "either",
        "45,2\nLaplace, scale 2,5": [None, 45.2],
        f"area;count\nElm;45,5\nOak;20,5{LAP}": ["Elm", 45.5, "Oak", 20.5],
    }, ("index.js", "if (lists && ", "if (false && ")),
    "codes with a 0 before them": ({}, {
        f"0312{LAP}": "unwritten",
        f"030/123456{LAP}": "unwritten",
        f"area,count\nElm,0045\nOak,0020{LAP}": "unwritten",
        f"0{LAP}": [None, 0],
        "312\nLaplace, scale 0.5": [None, 312],
    }, ("numbers.js", " || /^0\\d/u.test(body)", "")),
    "numbers in scientific writing": ({}, {
        f"1e3{LAP}": "short",
        f"1.2E+03 people{LAP}": "short",
        f"area,count\nElm,4.5e1\nOak,20{LAP}": "short",
        "312\nLaplace, scale 1e1": [None, 312],
    }, ("index.js", " || /\\de[-+]?\\d/iu.test(shown ?? \"\")", "")),
    "amounts and measures": ({}, {
        f"income: 41000{LAP}": "amount",
        f"Household income 2021: 41000{LAP}": "amount",
        f"Average income (in EUR): 41000{LAP}": "no_count",
        f"Age (years): 41{LAP}": "amount",
        f"age 41{LAP}": "amount",
        f"mean 41.2{LAP}": "no_count",
        f"€ 312{LAP}": "amount",
        f"$ 5{LAP}": "amount",
        f"$5{LAP}": "found",
        f"312 €{LAP}": "found",
        f"312 EUR{LAP}": "amount",
        f"312 km{LAP}": "amount",
        f"312 g{LAP}": "amount",
        f"312 FTE{LAP}": "amount",
        f"312 person-years{LAP}": "amount",
        f"Max: 41{LAP}": "amount",
        f"12 years{LAP}": "amount",
        f"12.30 Uhr{LAP}": "amount",
        f"Durchschnittsalter: 41{LAP}": "amount",
        f"Umsatz: 312{LAP}": "amount",
        f"taux de chômage : 12{LAP}": "amount",
        f"salaire moyen par mois: 312{LAP}": [*["salaire moyen par mois", 312]],
        f"edad: 41{LAP}": "amount",
        f"Age 18-24: 312{LAP}": ["Age 18-24", 312],
        f"Income support: 312{LAP}": ["Income support", 312],
        f"Walter: 312{LAP}": ["Walter", 312],
        f"312 day pupils{LAP}": [None, 312],
        f"age: 312 of 1150{LAP}": ["age", 312, 1150],
    }, ("doubts.js", "AMOUNT.test(name)", "false")),
    "amounts in a column": ({}, {
        f"area,income\nElm,45\nOak,20{LAP}": "amount",
        f"area,€\nElm,45\nOak,20{LAP}": "amount",
        f"age,count\n18,45\n19,20{LAP}": ["18", 45, "19", 20],
    }, ("columns.js", "else if (isAmount(value.name) && ", "else if (false && ")),
    "λ": ({}, {
        "312\nLaplace, λ = 0.5": "lambda",
        "312\nLaplace noise with lambda 0.5": "lambda",
        "312\nLaplace(λ = 0.5)": "lambda",
        "312\nGaussian noise, λ = 2": "bare",
        "312\nLaplace, λ = 1/2": "cut",
        "312\nLaplace, scale λ = 2": [None, 312],
        "312\nLaplace, b = 2": [None, 312],
    }, ("footnote.js", 'f.sizes.push({ by: "bare", bare: number(v), lambda: true })',
        'f.sizes.push({ by: "scale", scale: number(v) })')),
    "about": ({}, {
        f"about 312{LAP}": "loose",
        f"Population: about 312{LAP}": "loose",
        f"ca. 312{LAP}": "loose",
        f"approximately 312 people{LAP}": "loose",
        f"312 (approx.){LAP}": "loose",
        f"etwa 312 Personen{LAP}": "loose",
        f"rund 312{LAP}": "loose",
        f"environ 312{LAP}": "loose",
        f"unos 312{LAP}": "loose",
        f"about 118 of 290{LAP}": "loose",
        f"~312{LAP}": "found",
        f"≈ 312{LAP}": "loose",
        f"(12){LAP}": "loose",
        f"North: (12){LAP}": "found",
        f"312 e{LAP}": "loose",
        f"312 (u){LAP}": "loose",
        f"312 (p){LAP}": [None, 312],
        f"312 r{LAP}": [None, 312],
        f"About right: 312{LAP}": ["About right", 312],
        f"Some college: 312{LAP}": ["Some college", 312],
    }, ("index.js", "const loose = !chosen.loose && ", "const loose = false && ")),
    "a stroke before a year": ({}, {
        f"312/2021{LAP}": "slash",
        f"Elm: 312/2021{LAP}": "slash",
        f"5/2021{LAP}": "slash",
        f"5/12{LAP}": "slash",
        f"1/2{LAP}": "slash",
        f"118/290{LAP}": [None, 118, 290],
        f"45 of 2021{LAP}": [None, 45, 2021],
        f"12/05/2021{LAP}": "found",
    }, ("index.js", "else if (slashed.length && ", "else if (false && ")),
    "rounded or hidden first": ({}, {
        f"<5\n{HIDDEN5}": "which_order",
        f"Elm 45\nOak *\n{HIDDEN5}": "which_order",
        f"5\n{HIDDEN5}": "which_order",
        f"45\n{HIDDEN5}": [None, 45],  # all that is rounded to 45 is above 5
        "10\nrounded to 5, below 10 hidden": "which_order",
        "15\nrounded to 5, below 10 hidden": [None, 15],
        "12\nrandomly rounded to base 3; counts under 10 suppressed": "which_order",
        "15\nrandomly rounded to base 3; counts under 10 suppressed": [None, 15],
        "<10\nrounded to 5": "which_order",
        "5-9\nrounded to 5": "which_order",
        "<5 (rounded to 5)": "which_order",
        "<5\nWerte unter 5 geheim, auf 5 gerundet": "which_order",
        "<5\nbelow 5 hidden": [None, None],
        "12\nrounded to 3": [None, 12],
    }, ("doubts.js", "if (!round || !hide) return false;", "return false;")),
    "an order that is said": ({}, {
        "<5\nrounded to 5, then hidden below 5": [None, None],
        "<5\nhidden below 5 after rounding to 5": [None, None],
        "<5\nCounts are rounded to 5 after counts below 5 are hidden": [None, None],
        "<5\nFirst rounded to 5, then hidden below 5": [None, None],
        "<5\nauf 5 gerundet, danach Werte unter 5 geheim": [None, None],
    }, ("doubts.js", 'return first === null ? null : ["rounded", "hidden"][first];', "return null;")),
    "the others": ({}, {
        "<5\nCounts below 5 are hidden, the others rounded to 5": [None, None],
        "<5\nCounts are hidden below 5. The rest are rounded to 5.": [None, None],
        "<5\nWerte unter 5 geheim, alle anderen auf 5 gerundet": [None, None],
        "<5\nvaleurs inférieures à 5 masquées, les autres arrondies à 5": [None, None],
        "<5\nvalores inferiores a 5 ocultos, los demás redondeados a 5": [None, None],
    }, ("doubts.js", "if (hidden < round && OTHERS", "if (false && OTHERS")),
    "± without a law": ({}, {
        "312 ± 16 at 95%": "error_law",
        "312\nmargin of error ±16 (90% confidence)": "error_law",
        "312 ± 16 à 95 %": "error_law",
        "Elm 45 ± 3\nOak 20 ± 5\n90% confidence": "error_law",
        "area,count,moe\nElm,450,16\nOak,200,12\n90% confidence": "error_law",
        "312 ± 16 at 95%, Laplace noise": [None, 312],
        "312\n± 3 sd": [None, 312],
    }, ("noise.js", 'if (way.by === "error") {\n    notes', "if (false) {\n    notes")),
    "± of which nobody says how sure": ({}, {
        "312 ± 16, Gaussian noise": "confidence",
        "312 ± 16": "confidence",
    }, ("noise.js", "if (!chosen.confidence && ", "if (false && ")),
    "ε alone": ({}, {
        "312\nε = 0.5": "sensitivity",
        "312\nLaplace noise, ε = 0.5": "sensitivity",
        "312\nρ = 0.5": "sensitivity",
        "Elm: 45 (ε = 0.5)\nOak: 20 (ε = 1)": "sensitivity",
        "area,count,epsilon\nElm,45,0.5\nOak,20,1": "sensitivity",
        "312\nε = 0.5, sensitivity 1": [None, 312],
        "312\nε = 0.5, sensibilité 1": [None, 312],
        "312\nLaplace, scale 2, ε = 0.5": [None, 312],  # its size is said
    }, ("noise.js", "chosen.sensitivity ?? facts.sensitivity;", "chosen.sensitivity ?? facts.sensitivity ?? 1;")),
    "several shares": ({"question": "share"}, {
        f"A 310 of 1150\nB 210 of 1150{LAP}": "one_share",
        f"310 of 1150{LAP}": [None, 310, 1150],
    }, ("questions.js", "if (first.of && rows.length > 1) return", "if (false) return")),
    "names without a number": ({}, {
        f"Elm 312\nOak{LAP}": "left_data",
        f"Elm 312\nOak nil{LAP}": "left_data",
        f"Elm 312\nOak <LOD{LAP}": "left_data",
        f"Elm: 312\nOak:{LAP}": "left_data",
        "Nord: 312\nSüd: .\nWerte < 3 geheim": "left_data",
        f"Nord: 312\nSud: nd{LAP}": "left_data",
        f"Deaths in Elm\n312{LAP}": [None, 312],
        "Elm 45\nOak 20\nLaplace, scale 2\nprovisional figures": ["Elm", 45, "Oak", 20],
    }, ("lines.js", "if (follows && EMPTY", "if (false && EMPTY")),
    "marks in square brackets": ({}, {
        "Elm 312\nOak [c]\n[c] = fewer than 5": ["Elm", 312, "Oak", None],
        f"Elm 312\nOak [z]{LAP}": "mark",
        f"Elm 312 [a]\nOak 20{LAP}": ["Elm", 312, "Oak", 20],
    }, ("index.js", "{1,120}?) \\[([a-z])", "{1,120}?)_\\[([a-z])")),
    "a legend is no number": ({}, {
        "312\nRounded to nearest 5; 0 is a true zero": "left_data",
        f"312\n0 means none{LAP}": "denied",
        f"Elm: 312\n0 bedeutet nichts{LAP}": "left_data",
    }, ("lines.js", "if (/^(?:is|means?|stands?", "if (false && /^(?:is|means?|stands?")),
    "columns of flags": ({}, {
        f"area,count,flag\nElm,45,\nOak,20,e{LAP}": "columns_unread",
        f"area,count,note\nElm,45,\nOak,20,{LAP}": ["Elm", 45, "Oak", 20],
    }, ("columns.js", "(!c.numbers && FLAGS.test", "(false && FLAGS.test")),
    "times of day": ({}, {
        f"12:30{LAP}": "torn",
        f"9:05 am{LAP}": "torn",
        f"9:05 Uhr\n9:45 Uhr{LAP}": "torn",
        f"12: 30{LAP}": ["12", 30],
    }, ("lines.js", "/^\\s*\\d{1,2}:\\d\\d(?::", "/^[^\\s\\S]\\d{1,2}:\\d\\d(?::")),
    "a word that ends in of": ({}, {
        f"312 Menschen, davon 45 Frauen{LAP}": "found",
        f"45 Menschen, davon 312 Frauen{LAP}": "found",
        f"45 von 312 Menschen{LAP}": [None, 45, 312],
        f"45 sur 312 personnes{LAP}": [None, 45, 312],
    }, ("lines.js", "(?:(?<!\\\\p{L})(?:of|", "(?:(?:of|")),
    "what was done to noisy numbers": ({}, {
        "312 people, winsorized. Laplace, scale 2": "left_noise",
        "312\nLaplace, scale 2\nThe counts were raked to known totals": "left_noise",
        "312\nLaplace, scale 2\nsmoothed": "left_noise",
        "Projected rakers: 312\nLaplace, scale 2": ["Projected rakers", 312],
    }, ("lines.js", "|winsor|smooth(?:ed|ing)|rak(?:ed|ing)(?!\\p{L})|", "|")),
    "pairs in brackets": ({}, {
        f"[1, 4){LAP}": "found",
        f"(45, 20){LAP}": "found",
        f"(Elm, 20){LAP}": ["Elm", 20],
    }, ("lines.js", "/^[\\s([{]*\\d+\\s*[,;\\t|]/u", "/^[\\s]*\\d+\\s*[,;\\t|]/u")),
    "signs that are no names": ({}, {
        f"↑ 312{LAP}": "found",
        f"** 312{LAP}": "found",
        f"Elm ▲ 312{LAP}": "found",
    }, ("lines.js", "if (!/[\\p{L}\\p{N}\\p{Sc}~≈≃∼≅]/u.test(name)) return null;", "")),
    "a number and noise": ({}, {
        "312 + Lap(2)": "found",
        f"312+{LAP}": [None, None],
    }, ("lines.js", "|${UP}\\\\u0001)|or", ")|or")),
    "another number than the published": ({}, {
        "312 before Laplace noise of scale 2": "denied",
        "312 true; 315 noisy, Laplace scale 2": "denied",
        "312 incl. Laplace noise of scale 2": [None, 312],
    }, ("index.js", " || isAnother(unit))", ")")),
    "units of all numbers": ({}, {
        "Unit: thousands\n312\nLaplace, scale 2": "beyond_units",
        "unidades: miles\n312\nruido de Laplace, escala 2": "beyond_units",
        "Unit: persons\n312\nLaplace, scale 2": [None, 312],
    }, ("footnote.js", "unidad(?:es)?|", "")),
    "a colon between two numbers": ({}, {
        f"312:290{LAP}": "torn",
        f"312 : 290{LAP}": "torn",
        f"2021:290{LAP}": ["2021", 290],
        f"18: 45\n19: 50{LAP}": ["18", 45, "19", 50],
        f"18:45\n19:50{LAP}": "torn",
    }, ("lines.js", "if (data.length === 1 && ", "if (false && ")),
    "sums": ({}, {
        f"312 + 45 = 357{LAP}": "torn",
        f"45 + 290{LAP}": "found",
    }, ("lines.js", "/^[\\d\\s.,]+[+×*x]", "/^[^\\s\\S]+[+×*x]")),
    "rounding in other languages": ({}, {
        "310\nauf 5 gerundet": [None, 310],
        "310\nDie Werte wurden auf Vielfache von 5 gerundet.": [None, 310],
        "310\nauf Zehner gerundet": [None, 310],
        "312\narrondi à 3": [None, 312],
        "310\nLes chiffres sont arrondis au multiple de 5 le plus proche.": [None, 310],
        "310\narrondi à la dizaine": [None, 310],
        "310\nredondeado a 5": [None, 310],
        "310\nredondeado al múltiplo de 5 más cercano": [None, 310],
        "312\narrondi à 2 décimales": "cut",
        "312\nauf 2 Stellen gerundet": "left_noise",
        "312\nnicht auf 5 gerundet": "denied",
        "312\npas arrondi à 5": "denied",
        "312\nsin redondeado a 5": "denied",
    }, ("footnote.js", "`${START}auf${GAP}(?:(?:die|volle", "`${START}auf_${GAP}(?:(?:die|volle")),
    "rounding at random in other languages": ({}, {
        "312\nzufällig auf 3 gerundet": [None, 312],
        "312\nZufallsrundung zur Basis 3": [None, 312],
        "312\nredondeo aleatorio en base 3": [None, 312],
        "312\narrondis de façon aléatoire à un multiple de 3": [None, 312],
    }, ("footnote.js", "`${START}(?:zufällig auf${GAP}", "`${START}(?:zufällig_ auf${GAP}")),
    "hiding in other languages": ({}, {
        "Wert < 3 geheim\n312": [None, 312],
        "<3\nWert < 3 geheim": [None, None],
        "312\nWerte kleiner als 3 werden nicht ausgewiesen": [None, 312],
        "312\nvaleurs inférieures à 5 masquées": [None, 312],
        "312\nvalores inferiores a 5 suprimidos": [None, 312],
        "312\nLes effectifs inférieurs à 5 ne sont pas diffusés": "left_data",
        f"312{LAP}\nLes effectifs inférieurs à 5 ne sont pas diffusés": "left_data",
        f"312{LAP}\nLos valores menores que 5 no se publican": "left_data",
        f"312{LAP}\nZahlen bis 5 werden verschwiegen": "left_data",
    }, ("footnote.js", "|geheim(?: ?gehalten)?(?!\\\\p{L})|", "|geheim gehalten|")),
    "noise in other languages": ({}, {
        "312 personnes\nbruit de Laplace d'échelle 2": [None, 312],
        "312\nbruit gaussien, écart-type 3": [None, 312],
        "312 personas\nruido de Laplace, escala 2": [None, 312],
        "312\nruido gaussiano, desviación típica 3": [None, 312],
        "312\nLaplace-verteiltes Rauschen, Skala 2": [None, 312],
        "312\nsans bruit": [None, 312],
        "312\nkein Rauschen": [None, 312],
        "312\nbruit cellulaire de Laplace d'échelle 2": "left_noise",
    }, ("footnote.js", "|skala|skalenparameter|(?:d['’])?échelle|escala)", "|skala|skalenparameter)")),
    "what is no count in other languages": ({}, {
        f"Veränderung: 12{LAP}": "no_count",
        f"évolution: 12{LAP}": "no_count",
        f"variación: 12{LAP}": "no_count",
    }, ("doubts.js", "|balance|veränderung|", "|balance|")),
    "thousands in other languages": ({}, {
        f"Tsd. Personen: 312{LAP}": "beyond_units",
        f"312 milliers{LAP}": "short",
        f"312 (en milliers){LAP}": "beyond_units",
        f"pro 1000: 312{LAP}": "beyond_units",
        f"312 je 1000 Einwohner{LAP}": "beyond_units",
        f"312 mil{LAP}": "short",
    }, ("footnote.js", "(?:per|pro|je|pour|por(?: cada)?) (?:1[,. ]?000", "(?:per) (?:1[,. ]?000")),
    "how sure a ± is, beside it or in a line of its own": ({}, {
        "this year 312 ± 16\nlast year 287 ± 16\nGaussian, 95%": ["this year", 312, "last year", 287],
        "312 ± 16\n95%\nLaplace": [None, 312],
        "Elm,45 ± 3\nOak,20 ± 3\n(90 %)\nLaplace": ["Elm", 45, "Oak", 20],
        "312 ± 16\n45%\nGaussian": "left_data",
        "312\n95%": "left_data",
        "312 ± 16\n95% of people\nGaussian": "left_data",
    }, ("index.js", '"$& confidence"', '"$&"')),
    "how sure the last ± of a line is": ({}, {
        "This year: 312 ± 16, last year: 287 ± 8 (95%)\nGaussian": ["This year", 312, "last year", 287],
        "Elm 45 ± 3, Oak 20 ± 4, Fir 310 ± 3, 90%. Laplace noise.": ["Elm", 45, "Oak", 20, "Fir", 310],
        "Elm: 312 ± 16 (95%), Oak: 287 ± 8\nGaussian": "confidence",
        "Elm: 312 ± 16 (95%)\nOak: 287 ± 8\nGaussian": "confidence",
    }, ("lines.js", '? "" : ` ${sure.at(-1)}`', '? "" : ""')),
    "a ± in standard deviations": ({}, {
        "312 ± 2 sd\nGaussian": "cut",
        "312\nGaussian, ± 2 standard deviations": "cut",
        "312 ± 2σ, σ = 8": "cut",
        "312 ± 8 sd\nGaussian": [None, 312],
        "312 ± 3 (sd)\nGaussian": [None, 312],
        "312 ± 16 (2 SE)\nGaussian": [None, 312],
        "Elm 312 ± 16 (2 sd)\nOak 287 ± 8 (2 sd)\nGaussian": ["Elm", 312, "Oak", 287],
    }, ("footnote.js", "if (!times && !bracket && few", "if (false && few")),
    "a standard error is no count": ({}, {
        "Elm: 312\nSE: 8\nGaussian": ["Elm", 312],
        "Elm: 312\nRSE 8\nGaussian": "left_data",
        "312 (SE 8)\nGaussian": "found",
    }, ("footnote.js", "|se(?=${GAP}[=:])|", "|")),
    "a ρ of Laplace noise": ({}, {
        "312\nρ = 0.125, sensitivity 1, Laplace": "rho_laplace",
        "312\nρ = 0.125, sensitivity 1, Gaussian": [None, 312],
    }, ("noise.js", 'ways.every(way => way.by === "rho")', "false")),
    "a δ of 0": ({}, {
        "312\nε = 0.5, δ = 0, sensitivity 1": [None, 312],
        "312\nε = 0.5, δ = 0.0, sensitivity 1": [None, 312],
        "312\nε = 0.5, δ = 0.00001, sensitivity 1": "epsilon_gaussian",
        "312\nε = 0.5, δ = 10⁻⁵, sensitivity 1": "epsilon_gaussian",
    }, ("footnote.js", "f.delta ||= Boolean(some ?? ten)", "f.delta = true")),
    "a ± behind one of several numbers": ({}, {
        "131 vs 124 ± 16 (95%)\nGaussian": "marks",
        "Elm 45\nOak 20 ± 3\nFir 310\n95%, Gaussian": "marks",
        "131 ± 16 vs 124 ± 16 (95%)\nGaussian": [None, 131, None, 124],
        "131 vs 124\nGaussian noise, 95% within ± 16": [None, 131, None, 124],
        "131 ± 16 (95%)\nGaussian": [None, 131],
    }, ("index.js", "if (errors.length === 1)", "if (false)")),
    "this year and last year": ({}, {
        f"This year: 312\nLast year: 287{LAP}": ["This year", 312, "Last year", 287],
        f"this year 312 against last year 287{LAP}": ["this year", 312, "last year", 287],
        f"dieses Jahr 312\nletztes Jahr 287{LAP}": ["dieses Jahr", 312, "letztes Jahr", 287],
        f"Year: 312{LAP}": "amount",
        f"since last year 12{LAP}": "found",
    }, ("doubts.js", "/^(?:the )?(?:this|", "/^(?:the )?(?:thus|")),
    "a footnote in brackets inside a name": ({}, {
        "Elm 3 (± 2) West: 45\nOak: 20\nLaplace, scale 2": "left_data",
        "Elm: 45 (± 2)\nOak: 20\nLaplace, scale 2": "confidence",
    }, ("lines.js", r'if (name.includes("\u0002")) return null;', "")),
    "a person who counts once": ({}, {
        "312 (epsilon 0.5, each person counts once)": [None, 312],
        "312; privacy budget 0.5; each person contributes at most one record": [None, 312],
        "312\nε = 0.5; each person contributes at most one record per year": "left_noise",
    }, ("footnote.js", "counts|appears|occurs)", "counted_)")),
    "one of several is not how much one person changes": ({}, {
        "312\nε = 0.5; each person contributes one of 4 records": "left_data",
        "312\nε = 0.5; each person contributes to one of 4 tables": "left_data",
        "312\nε = 0.5; each person changes it by at most 4": [None, 312],
    }, ("footnote.js", "(?<!(?<!\\\\p{L})of )${N}`", "${N}`")),
    "a share of nobody": ({}, {
        f"312 of 0{LAP}": "n_whole",
        f"312 of 400{LAP}": [None, 312, 400],
    }, ("questions.js", " || of.value < 1))", "))")),
    "a star alone": ({}, {
        "*\nLaplace, scale 2. Counts below 5 are hidden.": [None, None],
        "312*\n* Laplace noise of scale 2": [None, 312],
    }, ("index.js", r"/^([ \t]*)\*+(?=[ \t]*\p{L})", r"/^(\s*)\*+(?=\s*\p{L})")),
    "digits that count": ({}, {
        "310\nrounded to 3 s.f.": "cut",
        "310\nrounded to 2 d.p.": "cut",
    }, ("doubts.js", "|s\\\\.? ?f|d\\\\.? ?p|", "|")),
}
# Texts that need no rule of their own here: dates, versions, signs, pasted tables.
OTHERS = {
    f"v2.1{LAP}": "left_data",
    f"version 2.1{LAP}": "found",
    f"Version 2.1: 312{LAP}": ["Version 2.1", 312],
    f"tel. 030 123456\n312{LAP}": "left_data",
    f"+49 30 123456{LAP}": "found",
    f"12th{LAP}": "no_count",
    f"3rd: 312{LAP}": ["3rd", 312],
    f"2021-06-30: 312{LAP}": ["2021-06-30", 312],
    f"30/06/2021 312{LAP}": "found",
    f"30.06.2021: 312{LAP}": ["30.06.2021", 312],
    f"312 am 30.06.2021{LAP}": "found",
    f"June 2021 312{LAP}": "found",
    f"−312{LAP}": [None, -312],
    f"–312{LAP}": "found",
    f"－312{LAP}": [None, -312],
    f"＜5{LAP}": [None, None],
    f"１２，５００ of ４５，０００{LAP}": [None, 12500, 45000],
    f"312-{LAP}": "found",
    f"３１２{LAP}": [None, 312],
    f"12½{LAP}": "found",
    f"½{LAP}": "no_number",
    f"10³{LAP}": "found",
    f"10^3{LAP}": "found",
    f"12k{LAP}": "short",
    f"1.5M{LAP}": "short",
    f"2 dozen{LAP}": "short",
    f"two hundred{LAP}": "no_number",
    f"312 %{LAP}": "beyond_percent",
    f"1.234,56{LAP}": [None, 1234.56],
    f"1,234,56{LAP}": "unwritten",
    f"312_000{LAP}": "found",
    f"312'000{LAP}": "beyond_units",
    f'"area","count"\n"Elm","45"\n"Oak","20"{LAP}': ["Elm", 45, "Oak", 20],
    f'\ufeff"area";"count"\n"Elm";"45"\n"Oak";"20"{LAP}': ["Elm", 45, "Oak", 20],
    f"sep=;\narea;count\nElm;45\nOak;20{LAP}": ["Elm", 45, "Oak", 20],
    f"area;count\nElm;1 045\nOak;2 020{LAP}": ["Elm", 1045, "Oak", 2020],
    f"area,count\nElm,45e\nOak,20{LAP}": "no_number",
    f"area,count\nElm,(45)\nOak,20{LAP}": "no_number",
    f"area,count\nElm,NA\nOak,20{LAP}": "mark",
    f"area,count (thousands)\nElm,45\nOak,20{LAP}": "beyond_units",
    "312\ncounts of 1, 2 shown as 3": "left_noise",
    "312\nrounded to 5 (percentages to 1 decimal place)": "left_noise",
    "312\nLaplace, rate 0.5": "left_data",
    "312\nε = ln 3, sensitivity 1": "left_noise",
}


def test_texts_are_read_or_asked_about():
    calls = [("reader/index.js", "read", text, options) for options, texts, _ in RULES.values() for text in texts]
    found = iter(node(calls + [("reader/index.js", "read", text) for text in OTHERS]))
    wrong = {name: unlike(texts, [next(found) for _ in texts]) for name, (_, texts, _) in RULES.items()}
    wrong["others"] = unlike(OTHERS, [next(found) for _ in OTHERS])
    assert not any(wrong.values()), {name: each for name, each in wrong.items() if each}


def test_a_reader_without_a_rule_fails_its_texts(tmp_path):
    (tmp_path / "package.json").write_text('{"type": "module"}')
    calls = []
    for k, (name, (options, texts, (file, right, wrong))) in enumerate(RULES.items()):
        shutil.copytree(ROOT / "page" / "reader", tmp_path / str(k))
        path = tmp_path / str(k) / file
        source = path.read_text(encoding="utf-8")
        assert source.count(right) == 1, f"{name}: {file} has no such line any more"
        path.write_text(source.replace(right, wrong), encoding="utf-8")
        calls += [(f"{k}/index.js", "read", text, options) for text in texts]
    found = iter(node(calls, tmp_path))
    unseen = [name for name, (_, texts, _) in RULES.items() if not unlike(texts, [next(found) for _ in texts])]
    assert not unseen, unseen


TOLD = {  # texts, what a question about each says, and the reader that says something else
    "roughly 1,200 (Laplace scale 10)": ("roughly 1,200  (Laplace scale 10)", ("aside.owns[k].typed", "k")),
    "Elm 312 ± 16\nOak! 287 ± 16 or 4": (["Oak! 287 ± 16 or 4"], ("aside.owns[k].typed", "k")),
    "45 people (14.4%) smoke\nLaplace scale 2": (["45"], ("|[.,]\\\\d|", "|")),
    "312 (± 16) or 290 (± 3)\nGaussian, 95%": (["312", "290"], ('.replace(ASIDE, "")', "")),
}


def test_people_are_told_what_they_typed(tmp_path):
    "A footnote in brackets stands in a question as it was typed, and no part of a number is offered as one."
    (tmp_path / "package.json").write_text('{"type": "module"}')
    calls = []
    for k, (text, (_, (right, wrong))) in enumerate(TOLD.items()):
        shutil.copytree(ROOT / "page" / "reader", tmp_path / str(k))
        path = tmp_path / str(k) / "index.js"
        source = path.read_text(encoding="utf-8")
        assert source.count(right) == 1, f"index.js has no such line any more: {right}"
        path.write_text(source.replace(right, wrong), encoding="utf-8")
        calls.append((f"{k}/index.js", "read", text))
    for (text, (wanted, _)), found, without in zip(TOLD.items(), read(*TOLD), node(calls, tmp_path), strict=True):
        said, other = ([fact for note in each["notes"] for fact in note["facts"].values()] for each in (found, without))
        assert wanted in said and wanted not in other, (text, said, other)


def scale(found):
    return found["asks"]["cell"]["noise"]["size"]


CLICKS = [  # a text, options, what is clicked one after another, and what is asked of the engine then
    (f"312 290{LAP}", {}, [("blank", True)], [None, 312290]),
    (f"45,20{LAP}", {"home": "."}, [("decimal", ",")], [None, 45.2]),
    (f"income: 41000{LAP}", {}, [("counts", True)], ["income", 41000]),
    (f"area,income\nElm,45\nOak,20{LAP}", {}, [("counts", True)], ["Elm", 45, "Oak", 20]),
    ("312\nLaplace, λ = 0.5", {}, [("bare", "rate")], 2),
    ("312\nLaplace, λ = 0.5", {}, [("bare", "scale")], 0.5),
    (f"(12){LAP}", {}, [("loose", True)], [None, 12]),
    (f"312/2021{LAP}", {}, [("slash", "of")], [None, 312, 2021]),
    (f"312/2021{LAP}", {}, [("slash", "year")], [None, 312]),
    ("312 ± 16", {}, [("confidence", 0.95), ("law", "gaussian")], 16 / 1.9599639845400545),
    ("312 ± 16", {}, [("law", "laplace"), ("confidence", 0.9)], 16 / math.log(10)),
    ("312 ± 16", {}, [("confidence", "sd")], 16),
    ("312 ± 16 (2 sd)\nGaussian", {}, [], 8),
    ("312 ± 16 (1.96 standard errors)\nGaussian", {}, [], 16 / 1.96),
    ("312\nε = 0.5; each person counts once", {}, [], 2),
    ("312\nε = 0.5", {}, [("sensitivity", 1)], 2),
    ("312\nρ = 0.5", {}, [("sensitivity", 2)], 2),
    ("312\nρ = 0.125, sensitivity 1, Laplace noise", {}, [("law", "gaussian")], 2),
    ("Elm: 45 (ε = 0.5)\nOak: 20 (ε = 1)", {}, [("sensitivity", 1)], ["Elm", 45, "Oak", 20]),
    (f"<5\n{HIDDEN5}", {}, [("order", "hidden")], [{"how": "hidden", "below": 5}, {"how": "rounded", "step": 5}]),
    (f"<5\n{HIDDEN5}", {}, [("order", "rounded")], [{"how": "rounded", "step": 5}, {"how": "hidden", "below": 5}]),
    (f"Elm 312\nOak{LAP}", {}, [("leave", "Oak")], ["Elm", 312]),
    ("131 vs 124 ± 16 (95%)\nGaussian", {}, [("marks", True)], [None, 131, None, 124]),
]


def test_what_is_asked_is_settled_by_its_buttons():
    "Each click is one that stands there, after the clicks before it; the last one leaves nothing to ask."
    steps = [(text, options, dict(clicks[:k])) for text, options, clicks, _ in CLICKS for k in range(len(clicks) + 1)]
    calls = [("reader/index.js", "read", text, {**options, "chosen": chosen}) for text, options, chosen in steps]
    found = iter(node(calls))
    for text, _, clicks, wanted in CLICKS:
        for key, value in clicks:
            asked = [note for note in next(found)["notes"] if note["kind"] == "asked"]
            offered = [(choice["key"], choice["value"]) for note in asked for choice in note["choices"]]
            assert (key, value) in offered, (text, key, offered)
        last = next(found)
        assert last["asks"] and not [note for note in last["notes"] if note["kind"] == "asked"], (text, last["notes"])
        if isinstance(wanted, list) and isinstance(wanted[-1], dict):
            assert last["asks"]["cell"]["printed"] == wanted, text
        elif isinstance(wanted, list):
            assert taken(last) == wanted, text
        else:
            assert math.isclose(scale(last), wanted), (text, scale(last))


def test_rounding_or_hiding_first_makes_another_answer_only_where_it_is_asked():
    "The page's own posteriors of both orders: they differ for what is asked about, and are the same for what is not."
    asked, sure = {"value": None}, {"value": 45}
    steps = [{"how": "rounded", "step": 5}, {"how": "hidden", "below": 5}]
    noise = {"law": "laplace", "size": 2, "whole": True}
    calls = [("view/answer.js", "answered", {"kind": "count", "cell": {**cell, "noise": noise, "printed": order}})
             for cell in (asked, {"value": 5}, sure) for order in (steps, steps[::-1])]
    answers = [(each["median"], each["interval"]) for each in node(calls)]
    assert answers[0] != answers[1] and answers[2] != answers[3] and answers[4] == answers[5], answers


# ---- a file that is asked another question ----


def test_a_file_keeps_its_numbers_whatever_is_asked():
    table, share, count = files()
    wanted = {  # None: a sentence, and nothing is computed
        (table, "compare"): ["Elm", 45, "Oak", 20],
        (table, "table"): ["Elm", 45, "Oak", 20, "Ash", 9],
        (table, "count"): None,
        (table, "share"): None,
        (table, "rate"): None,
        (share, "count"): ["successes", 312],
        (share, "hidden"): ["successes", 312],
        (share, "rate"): ["successes", 312, 1150],
        (share, "compare"): None,
        (share, "table"): None,
        (count, "hidden"): ["all", 41],
        (count, "share"): None,
        (count, "compare"): None,
    }
    found = node([("reader/index.js", "read", text, {"question": question}) for text, question in wanted])
    for ((_, question), numbers), each in zip(wanted.items(), found):
        stops = [note["code"] for note in each["notes"] if note["kind"] in ("asked", "misfit", "refused")]
        assert (each["kind"], each["question"], bool(stops)) == ("file", question, numbers is None), (question, stops)
        assert numbers is None or taken(each) == numbers, taken(each)
    (other,) = read(table, question="compare", chosen={"a": 2, "b": 1})
    assert taken(other) == ["Ash", 9, "Oak", 20]

