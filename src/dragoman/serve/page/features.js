// Features for people: groups in order, and what the names mean.

const GROUPS = {
  tm: "Translation model",
  lm: "Language model",
  lr: "Reordering model",
  penalties: "Counts and penalties",
  mix: "Shares of a mixture",
  other: "Other features",
};
const PENALTIES = ["distortion", "word_penalty", "phrase_penalty", "rule_penalty", "glue", "unknown_word"];

const MEANINGS = {
  bwd: "ln p(source | target)",
  bwd_lex: "ln p(source | target), word by word",
  fwd: "ln p(target | source)",
  fwd_lex: "ln p(target | source), word by word",
  penalty: "rules of this grammar",
  "bwd.mono": "goes on after the phrase before",
  "bwd.swap": "changes places with the phrase before",
  "bwd.other": "jumps from the phrase before",
  "fwd.mono": "the next goes on after it",
  "fwd.swap": "the next changes places with it",
  "fwd.other": "the next jumps",
  lm: "ln p(target words)",
  distortion: "minus the lengths of jumps",
  word_penalty: "minus the target words",
  phrase_penalty: "phrases",
  rule_penalty: "rules",
  glue: "parts joined from left to right",
  unknown_word: "−100 for a word that passes through",
  score: "as it stands in the list",
  logprob: "ln p(candidate), as it stands in the list",
};

/** What a group is called: `tm2` is a second translation model. */
export function groupTitle(group) {
  const [, family, number] = /^(.*?)(\d*)$/.exec(group);
  return GROUPS[family] ? `${GROUPS[family]}${number ? ` ${number}` : ""}` : group;
}

/** What a feature says, in some words, or nothing where its name is all that is known. */
export function meaning(name) {
  const family = /^lm\d*$/.test(name) ? "lm" : name;
  return MEANINGS[family] ?? MEANINGS[name.slice(name.indexOf(".") + 1)] ?? "";
}

/** The group of a feature of which nothing is known but its name. */
export function groupOf(name) {
  if (name.includes(".")) return name.slice(0, name.indexOf("."));
  if (PENALTIES.includes(name)) return "penalties";
  return /^[tl]m\d*$/.test(name) ? name : "other";
}

/** Features by group, groups in the order in which they first come. */
export function grouped(features) {
  const groups = new Map();
  for (const feature of features) groups.set(feature.group, [...(groups.get(feature.group) ?? []), feature]);
  return groups;
}

/** The weight of a feature: its own, or that of a prefix of it; sparse features have names with many parts. */
export function weightOf(name, weights) {
  for (let prefix = name; ; prefix = prefix.slice(0, prefix.lastIndexOf("."))) {
    if (prefix in weights) return weights[prefix];
    if (!prefix.includes(".")) return 0;
  }
}
