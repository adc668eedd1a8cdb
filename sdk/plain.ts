import { codeOf, HIDDEN_CLASS } from '../src/proof/quoted.ts'

/* The rules of this file are also in `python/src/tallystick/_text.py`. */

/** Maximum number of combining marks that are shown on one character. More marks would cover other lines. */
const MARKS_MAX = 4
/** Maximum number of consecutive hidden characters for which each code is shown. */
const NAMED_MAX = 3

/**
 * Blocks with pictographs. Emoji combine pictographs with hidden characters: joiners, variation selectors, keycaps,
 * and tags (for three flags).
 */
const PICTOGRAPH = String.raw`[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\u{1f000}-\u{1faff}][\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]?`
const EMOJI = [
  String.raw`\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}`,
  String.raw`${PICTOGRAPH}(?:\u200d${PICTOGRAPH})*`,
  String.raw`[#*0-9]\ufe0f\u20e3`,
].join('|')
const COMBINING = String.raw`(?:(?![${HIDDEN_CLASS}])[\p{Mn}\p{Me}])`
const found = (hidden: string) =>
  new RegExp(
    `(?:${EMOJI})|(?<hidden>${hidden}+)|(?<first>^${COMBINING}+)|(?<many>${COMBINING}{${MARKS_MAX + 1},})`,
    'gu',
  )
const IN_LINE = found(`[${HIDDEN_CLASS}]`)
const IN_LINES = found(`(?:(?![\\t\\n])[${HIDDEN_CLASS}])`)

/**
 * A piece of a text. If `text` is a visible mark, `hidden` contains the characters that the mark replaces. Otherwise
 * `hidden` is null, and `text` is the original text.
 */
export type PlainText = { readonly text: string; readonly hidden: string | null }

/**
 * Makes a text from another party safe for logs and terminals. Line breaks, control characters, bidirectional controls
 * and hidden characters are replaced by visible marks.
 */
export function plain(text: string): string {
  return joined(cut(text, IN_LINE))
}

/** Like `plain`, but tabs and line breaks are not replaced. */
export function plainLines(text: string): string {
  return joined(piecesOf(text))
}

/**
 * Cuts a text from another party into pieces in which every character is visible. A mark such as `⟨U+202E⟩` replaces
 * hidden characters, and combining marks that would cover other text. Tabs and line breaks are not replaced.
 */
export function piecesOf(text: string): PlainText[] {
  return cut(text, IN_LINES)
}

function joined(pieces: readonly PlainText[]): string {
  return pieces.map(({ text }) => text).join('')
}

function cut(text: string, hiding: RegExp): PlainText[] {
  const pieces: PlainText[] = []
  let end = 0
  const take = (from: number, hidden: string, mark: string) => {
    if (from > end) pieces.push({ text: text.slice(end, from), hidden: null })
    pieces.push({ text: mark, hidden })
    end = from + hidden.length
  }
  for (const { index, groups } of text.matchAll(hiding)) {
    const { hidden, first, many } = groups!
    if (hidden !== undefined) take(index, hidden, markOf(hidden))
    else if (first !== undefined) take(index, first, countOf(first))
    else if (many !== undefined) {
      const kept = [...many].slice(0, MARKS_MAX).join('').length
      take(index + kept, many.slice(kept), countOf(many.slice(kept)))
    }
  }
  if (end < text.length) pieces.push({ text: text.slice(end), hidden: null })
  return pieces
}

function markOf(hidden: string): string {
  const codes = [...hidden].map(codeOf)
  return codes.length <= NAMED_MAX ? `⟨${codes.join(' ')}⟩` : `⟨${codes[0]} … ${codes.length} characters⟩`
}

function countOf(marks: string): string {
  return `⟨${[...marks].length} combining⟩`
}
