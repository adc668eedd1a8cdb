export type Pairs = Readonly<Record<string, string>>

/**
 * Parses `key=value,key=value`, OpenTelemetry's form of headers and resources. Keys and values are percent-encoded, and
 * spaces around them are ignored (W3C Baggage, without properties). An error contains the position of the faulty pair
 * but not its text, because the text may be a secret.
 */
export function parsePairs(text: string): Pairs {
  const found: Record<string, string> = Object.create(null)
  for (const [i, member] of text.split(',').entries()) {
    if (member.trim() === '') continue
    const at = member.indexOf('=')
    const key = member.slice(0, Math.max(at, 0)).trim()
    if (key === '') throw new Error(`member ${i + 1} is not key=value`)
    try {
      found[decodeURIComponent(key)] = decodeURIComponent(member.slice(at + 1).trim())
    } catch {
      throw new Error(`member ${i + 1} is not percent-encoded`)
    }
  }
  return { ...found }
}
