/** `migrate` was not run yet, and may be running: who can wait may find another state soon. */
export class SchemaBehindError extends Error {
  constructor(found: string) {
    super(`${found}: run \`npm run migrate\` first`)
  }
}
