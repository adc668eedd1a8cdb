/** Members of a problem document that every message has already: the detail, the path and the request's id. */
const SHOWN = new Set(['detail', 'path', 'requestId'])

/**
 * Renders the members of a problem document that its advice names, such as ` (nextEvents: record-activated)`. People see
 * only the message, so a member that the advice sends them to must be in it. Returns '' if the document has none of them.
 */
export function namedMembers(advice: string, problem: object): string {
  const names = [...new Set([...advice.matchAll(/`([A-Za-z]+)`/g)].map(([, name]) => name!))]
  const shown = names
    .filter((name) => !SHOWN.has(name) && Object.hasOwn(problem, name))
    .map((name) => `${name}: ${valueText((problem as Record<string, unknown>)[name])}`)
  return shown.length === 0 ? '' : ` (${shown.join('; ')})`
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(valueText).join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
