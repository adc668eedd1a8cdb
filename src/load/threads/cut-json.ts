import { ProofError } from '../../proof/error.ts'
import { endFinderOf, endOfString, isSpace } from '../../proof/json/json-parser.ts'
import { isTokenBefore } from '../../proof/json/json-text.ts'

/**
 * A piece of the text of a JSON object. It can be parsed without the rest of the text. A piece is the value of a
 * member, or some elements of a member whose value is a list.
 */
export type JsonFragment = {
  /** Name of the member as it is in the text, with quotes and escapes. */
  readonly name: string
  /** Text of the piece. If it consists of elements of a list, the brackets of the list are left out. */
  readonly text: string
  readonly isElements: boolean
}

type PieceBounds = { readonly depthMax: number; readonly tokensInPieceMax: number }

/**
 * Limits of a piece that contains elements of a list: number of characters, and number of names and values. Elements
 * are added to a piece until it exceeds a limit. Parsing such a piece takes 1 ms.
 */
const PIECE_CHARS = 64 * 1024
const PIECE_TOKENS = 8 * 1024
/**
 * Additional cost of a name with an escape. Such a name takes three times as long as a name without an escape
 * (src/proof/json/json-parser.ts).
 */
const ESCAPED_NAME_TOKENS = 2
/** Maximum number of members of the outermost object. No route accepts so many members. */
const MEMBERS_MAX = 64

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Cuts the text of a JSON object into pieces. If the text is something else, the function still ends, but the result is
 * meaningless. The text is cut before it is parsed, so that a costly text is refused early.
 *
 * A piece is parsed without a pause. So this function throws `json_too_costly` if one member, or one element of a list,
 * has more than `tokensInPieceMax` names and values. It throws `json_depth` for a text that is far too deep.
 */
export function cutJson(text: string, bounds: PieceBounds): JsonFragment[] {
  const pieces: JsonFragment[] = []
  const findEnd = endFinderOf(text)
  const within = { ...bounds, findEnd }
  let members = 0
  for (let at = skipTo(text, QUOTE, 0); at < text.length; at = skipTo(text, QUOTE, at)) {
    if (++members > MEMBERS_MAX)
      throw new ProofError('json_too_costly', `the object has more than ${MEMBERS_MAX} members`)
    const nameEnd = findEnd(text, at + 1) + 1
    const name = text.slice(at, nameEnd)
    at = skipSpace(text, skipTo(text, COLON, nameEnd) + 1)
    const isElements = text.charCodeAt(at) === OPEN_ARRAY
    if (isElements) at++
    let from = at
    let tokens = 0
    for (let isLast = false; !isLast; at++) {
      const value = endOfValue(text, at, within)
      at = value.end
      tokens += value.tokens
      isLast = !isElements || at >= text.length || text.charCodeAt(at) === CLOSE_ARRAY
      if (!isLast && at - from <= PIECE_CHARS && tokens <= PIECE_TOKENS) continue
      pieces.push({ name, text: text.slice(from, at), isElements })
      from = at + 1
      tokens = 0
    }
  }
  return pieces
}

/** Returns the index of the comma or bracket after the value that begins at `from`. */
function endOfValue(
  text: string,
  from: number,
  { findEnd, depthMax, tokensInPieceMax }: PieceBounds & { readonly findEnd: typeof endOfString },
): { readonly end: number; readonly tokens: number } {
  let depth = 0
  let tokens = 1
  let string = from
  let i = from
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      string = i
      i = findEnd(text, i + 1)
    } else if (code === COLON && findEnd === endOfString && text.slice(string, i).includes('\\')) {
      tokens += ESCAPED_NAME_TOKENS
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if (depth === 0 && (code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT)) break
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
    if (depth > depthMax)
      throw new ProofError(
        'json_depth',
        `the JSON is nested more than ${depthMax} levels deep at character ${i}`,
      )
    if (isTokenBefore(code) && ++tokens > tokensInPieceMax)
      throw new ProofError(
        'json_too_costly',
        `the value at character ${from} has more than ${tokensInPieceMax} names and values`,
      )
  }
  return { end: i, tokens }
}

function skipTo(text: string, wanted: number, from: number): number {
  let i = from
  while (i < text.length && text.charCodeAt(i) !== wanted) i++
  return i
}

function skipSpace(text: string, from: number): number {
  let i = from
  while (isSpace(text.charCodeAt(i))) i++
  return i
}
