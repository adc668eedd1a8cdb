/** The only code of the SDK that reads environment variables. Empty in runtimes without them. */
const variables: Readonly<Record<string, string | undefined>> =
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {}

export const environment = {
  baseUrl: (): string | undefined => variables['TALLYSTICK_URL']?.trim() || undefined,
  apiKey: (): string | undefined => variables['TALLYSTICK_API_KEY']?.trim() || undefined,
}

/** Address of `npm start`. */
export const BASE_URL_DEFAULT = 'http://localhost:3000'
