/** The only place of the library that reads the environment; empty where a runtime has none. */
const variables: Readonly<Record<string, string | undefined>> =
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {}

export const environment = {
  baseUrl: (): string | undefined => variables['TALLYSTICK_URL']?.trim() || undefined,
  apiKey: (): string | undefined => variables['TALLYSTICK_API_KEY']?.trim() || undefined,
}

/** Where `npm start` listens. */
export const BASE_URL_DEFAULT = 'http://localhost:3000'
