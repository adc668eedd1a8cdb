/** `migrate` has not run yet, or is running. A caller that can wait may soon find another state. */
export class SchemaBehindError extends Error {
  constructor(found: string) {
    super(`${found}: run \`npm run op -- migrate\` first`)
  }
}
