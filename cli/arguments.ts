import { UsageError } from './run.ts'

/** Returns the only argument. Throws UsageError if there are no arguments, or more than one. */
export function onlyArgument(positionals: readonly string[], usage: string): string {
  const [argument] = positionals
  if (argument === undefined || positionals.length > 1) throw new UsageError(`usage: tallystick ${usage}`)
  return argument
}

export function noArguments(positionals: readonly string[], usage: string): void {
  if (positionals.length > 0) throw new UsageError(`usage: tallystick ${usage}`)
}

/** Parses a whole number from `min` to `max`. Returns undefined for undefined. Throws UsageError for any other text. */
export function parseCount(
  text: string | undefined,
  option: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER } = {},
): number | undefined {
  if (text === undefined) return undefined
  const count = Number(text)
  if (/^\d{1,16}$/.test(text) && count >= min && count <= max) return count
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`
  throw new UsageError(`${option} takes a whole number, ${range}`)
}

/** Returns the choice that equals `text`. Throws UsageError if no choice equals it. */
export function parseChoice<T extends string>(text: string, choices: readonly T[], option: string): T {
  const choice = choices.find((each) => each === text)
  if (choice !== undefined) return choice
  throw new UsageError(`${option} is one of: ${choices.join(', ')}`)
}
