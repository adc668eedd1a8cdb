import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type Credentials = { readonly baseUrl?: string; readonly apiKey?: string }

const KEPT = join(process.env['TALLYSTICK_DATA'] || '.tallystick', 'credentials.json')

/**
 * Returns the credentials that `npm start` stored in this folder. Returns an empty object if the environment has a key,
 * because the client reads that key itself.
 */
export function credentials(): Credentials {
  if (process.env['TALLYSTICK_API_KEY']) return {}
  try {
    const { url, key } = JSON.parse(readFileSync(KEPT, 'utf8')) as { url: string; key: string }
    return { baseUrl: url, apiKey: key }
  } catch (error) {
    throw new Error(`no TALLYSTICK_API_KEY, and no ${KEPT}: run \`npm start\` first, in this folder`, {
      cause: error,
    })
  }
}
