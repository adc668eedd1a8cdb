import { type AppOptions, buildTestApp, type Test, type TestApp } from './app.ts'
import { sharedGatedApp } from './gated-app.ts'
import { addressOf, sharedApp } from './shared-app.ts'
import { temporaryFiles } from './temporary-files.ts'

type Files = ReturnType<typeof temporaryFiles>

type CliTest = Test & { after(cleanup: () => void): void }
type Listening = { url: string; files: Files; env: Record<string, string> }

/**
 * Makes the application listen. Sets this process's environment so that commands use the application with the key of
 * its first ledger.
 */
export async function listen(t: CliTest, app: Pick<TestApp, 'app' | 'ledger'>): Promise<Listening> {
  return useCli(t, app, await app.app.listen({ port: 0, host: '127.0.0.1' }))
}

function useCli(t: CliTest, app: Pick<TestApp, 'ledger'>, url: string): Listening {
  const files = temporaryFiles(t)
  const env = {
    TALLYSTICK_URL: url,
    TALLYSTICK_API_KEY: app.ledger.key.key,
    XDG_CONFIG_HOME: files.directory,
  }
  Object.assign(process.env, env)
  return { url, files, env }
}

export async function buildCliApp(t: CliTest, options?: AppOptions) {
  const app = await buildTestApp(t, options)
  return { ...app, ...(await listen(t, app)) }
}

/** Works like `listen`, with a new ledger of the application that all tests of the process share. */
export async function sharedCliApp(t: CliTest) {
  const app = await sharedApp()
  return { ...app, ...useCli(t, app, await addressOf(app)) }
}

/** Works like `sharedCliApp`, and adds the gated type and its agents. */
export async function sharedGatedCliApp(t: CliTest) {
  const app = await sharedGatedApp()
  return { ...app, ...useCli(t, app, await addressOf(app)) }
}
