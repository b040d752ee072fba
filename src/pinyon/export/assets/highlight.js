// Colours for source code: comments, strings, numbers and keywords, by families of languages.

const WORDS = {
  python: "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return self try while with yield",
  script: "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface let namespace new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined var void while with yield",
  clike: "abstract alignas auto bool boolean break byte case catch chan char class const constexpr continue crate def default defer delete do double dyn else enum explicit export extends extern false final finally float fn for friend func fun go goto if impl implements import in inline int interface internal let long loop match mod move mut mutable namespace new nil null nullptr object operator override package private protected pub public range ref register return select self short signed sizeof static struct super switch template this throw throws trait true try type typedef typename union unsafe unsigned use using val var virtual void volatile when where while yield",
  shell: "alias break case cd continue declare do done echo elif else esac eval exec exit export fi for function if in local printf read readonly return set shift source test then trap unset until while",
  sql: "add all alter and as asc begin between by case column commit constraint create database default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references right rollback select set table then transaction union unique update values view when where with",
  data: "true false null yes no on off",
};

const STRINGS = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const NUMBER = String.raw`(?<![\w.])(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)`;
const HASH = String.raw`#[^\n]*`;
const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;

const FAMILIES = {
  python: family(HASH, String.raw`[rbfuRBFU]{0,2}"""[^]*?(?:"""|$)|[rbfuRBFU]{0,2}'''[^]*?(?:'''|$)|` + STRINGS, WORDS.python),
  script: family(SLASHES, STRINGS + "|`(?:[^`\\\\]|\\\\[^])*`", WORDS.script),
  clike: family(SLASHES, STRINGS, WORDS.clike),
  shell: family(String.raw`(?<![\w$])#[^\n]*`, STRINGS, WORDS.shell),
  sql: family(String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`, STRINGS, WORDS.sql, "i"),
  data: family(HASH, STRINGS, WORDS.data),
  json: family(String.raw`(?!)`, STRINGS, WORDS.data),
  css: family(String.raw`\/\*[^]*?(?:\*\/|$)`, STRINGS, "important inherit initial none auto media import supports"),
  markup: family(String.raw`<!--[^]*?(?:-->|$)`, STRINGS, "", "", String.raw`<\/?[A-Za-z][\w:.-]*|\/?>`),
};

const LANGUAGES = {
  python: "py pyi python python3 starlark", script: "js jsx ts tsx mjs cjs javascript typescript vue svelte",
  clike: "c h cc cpp cxx hpp cs java go rs rust kt kotlin swift scala dart php proto zig c++ csharp m mm groovy",
  shell: "sh bash zsh fish shell console ksh dockerfile makefile make ps1 powershell rb ruby pl perl",
  sql: "sql sqlite psql", data: "yaml yml toml ini cfg conf env properties", json: "json jsonl jsonc json5",
  css: "css scss less", markup: "html htm xml svg xhtml plist",
};
const FAMILY_OF = new Map(Object.entries(LANGUAGES).flatMap(([name, words]) => words.split(" ").map((word) => [word, name])));
const LONGEST_HIGHLIGHT = 100000;

function family(comment, string, words, flags = "", name = "(?!)") {
  const keyword = words ? String.raw`\b(?:${words.split(" ").join("|")})\b` : "(?!)";
  const source = `(?<comment>${comment})|(?<string>${string})|(?<name>${name})|(?<number>${NUMBER})|(?<keyword>${keyword})`;
  return new RegExp(source, `g${flags}`);
}

function languageOfPath(path) {
  const name = String(path).split(/[\\/]/).pop().toLowerCase();
  return name.includes(".") ? name.split(".").pop() : name;
}

function highlighted(text, language) {
  const kind = (language || "").toLowerCase();
  if (kind === "diff" || kind === "patch") return element("code", {}, diffLines(text));
  const pattern = FAMILIES[FAMILY_OF.get(kind)];
  if (!pattern || text.length > LONGEST_HIGHLIGHT) return element("code", {}, text);
  const code = element("code");
  let at = 0;
  for (const found of text.matchAll(pattern)) {
    if (!found[0]) continue;
    if (found.index > at) code.append(text.slice(at, found.index));
    const name = Object.keys(found.groups).find((group) => found.groups[group] !== undefined);
    code.append(element("span", { class: `hl-${name}` }, found[0]));
    at = found.index + found[0].length;
  }
  code.append(text.slice(at));
  return code;
}

function diffLines(text) {
  return text.split("\n").map((line) => {
    const kind = /^\+/.test(line) ? "added" : /^-/.test(line) ? "removed" : /^@@/.test(line) ? "hunk" : "same";
    return element("span", { class: `diff-${kind}` }, line);
  });
}
