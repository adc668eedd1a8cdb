/** `migrate` was not run yet, or is running: a caller that can wait may find another state soon. */
export class SchemaBehindError extends Error {
  constructor(found: string) {
    super(`${found}: run \`npm run op -- migrate\` first`)
  }
}
