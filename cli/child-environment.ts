/** Matches a Tallystick key anywhere in a text: `tly_…` of an agent, `tlo_…` of the operator. */
const ANY_KEY = /tl[yo]_[0-9A-Za-z]{32}/
const OWN = 'TALLYSTICK_'
/** Maximum depth of nested encodings that are decoded, such as Base64 in a URL. */
const ENCODINGS_MAX = 3

export type ChildEnvironment = {
  readonly env: NodeJS.ProcessEnv
  /** Names of the removed variables that contain a key and are not Tallystick's own. */
  readonly dropped: readonly string[]
}

/**
 * Returns the environment for another vendor's program, without Tallystick's own variables. A variable is also removed
 * if its value contains one of the keys, or text that looks like a key. The key may be plain, percent-encoded, in
 * Base64 or in hex, also with line breaks.
 */
export function childEnvironment(env: NodeJS.ProcessEnv, keys: readonly string[]): ChildEnvironment {
  const others = Object.entries(env).filter(([name]) => !name.toUpperCase().startsWith(OWN))
  const dropped = others.filter(([, value]) => holdsKey(value ?? '', keys)).map(([name]) => name)
  return { env: Object.fromEntries(others.filter(([name]) => !dropped.includes(name))), dropped }
}

function holdsKey(value: string, keys: readonly string[], encodings = ENCODINGS_MAX): boolean {
  if (ANY_KEY.test(value) || keys.some((key) => key !== '' && value.includes(key))) return true
  if (encodings === 0) return false
  return decodings(value).some((decoded) => holdsKey(decoded, keys, encodings - 1))
}

function decodings(value: string): string[] {
  const percent = value.replaceAll(/%([0-9a-f]{2})/gi, (_all, hex: string) => charOf(hex))
  // Line breaks are removed first: base64(1) breaks lines after 76 characters, which may split a key.
  const joined = value.replaceAll(/\\+[nrt]|\s/g, '')
  const base64 = [...joined.matchAll(/[\w+/-]{24,}/g)].flatMap(([run]) =>
    // Each run of letters is decoded at four offsets, because it may begin with text that is not Base64, such as
    // `Basic/…` or a path.
    [0, 1, 2, 3].map((at) => Buffer.from(run.slice(at), 'base64').toString('latin1')),
  )
  const hex = [...joined.matchAll(/[0-9a-f]{24,}/gi)].flatMap(([run]) =>
    [0, 1].map((at) => Buffer.from(run.slice(at), 'hex').toString('latin1')),
  )
  // Zero bytes are removed, because UTF-16 has one after each ASCII character.
  const decoded = [...base64, ...hex].map((text) => text.replaceAll('\0', ''))
  return [...(percent === value ? [] : [percent]), ...decoded]
}

function charOf(hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16))
}
