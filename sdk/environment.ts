/** The SDK reads environment variables only here. In runtimes without environment variables the object is empty. */
const variables: Readonly<Record<string, string | undefined>> =
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {}

export const environment = {
  baseUrl: (): string | undefined => variables['TALLYSTICK_URL']?.trim() || undefined,
  apiKey: (): string | undefined => variables['TALLYSTICK_API_KEY']?.trim() || undefined,
}

/** Address at which the server of `npm start` listens. */
export const BASE_URL_DEFAULT = 'http://localhost:3000'
