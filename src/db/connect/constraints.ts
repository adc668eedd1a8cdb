/** The name of the constraint that an error of Postgres says was violated; null for any other error. */
export function constraintOf(error: unknown): string | null {
  const { constraint } = error as { constraint?: unknown }
  return typeof constraint === 'string' ? constraint : null
}
