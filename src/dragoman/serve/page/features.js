// Features for people: groups in order, and what the names mean.

const GROUPS = {
  tm: "Translation model",
  lm: "Language model",
  lr: "Reordering model",
  penalties: "Counts and penalties",
  mix: "Interpolation weights",
  other: "Other features",
};
const PENALTIES = ["distortion", "word_penalty", "phrase_penalty", "rule_penalty", "glue", "unknown_word"];

const MEANINGS = {
  bwd: "ln p(source | target)",
  bwd_lex: "ln p(source | target), lexical",
  fwd: "ln p(target | source)",
  fwd_lex: "ln p(target | source), lexical",
  penalty: "number of rules of this grammar",
  "bwd.mono": "monotone with the previous phrase",
  "bwd.swap": "swapped with the previous phrase",
  "bwd.other": "discontinuous with the previous phrase",
  "fwd.mono": "monotone with the next phrase",
  "fwd.swap": "swapped with the next phrase",
  "fwd.other": "discontinuous with the next phrase",
  lm: "ln p(target words)",
  distortion: "distortion: minus the lengths of jumps",
  word_penalty: "minus the number of target words",
  phrase_penalty: "number of phrases",
  rule_penalty: "number of rules",
  glue: "number of glue rules",
  unknown_word: "−100 for each unknown word",
  score: "score of the list",
  logprob: "ln p(candidate), from the list",
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
