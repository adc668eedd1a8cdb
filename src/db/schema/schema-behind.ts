/** Thrown if `migrate` has not run yet or is still running. A caller that can wait may try again. */
export class SchemaBehindError extends Error {
  constructor(found: string) {
    super(`${found}: run \`npm run op -- migrate\` first`)
  }
}
