import { type Browser, chromium, type Page } from 'playwright-core'
import { findChromium } from '../chromium.ts'

/** Starts a browser without a sandbox, because root cannot have one. The browser opens only our own pages. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}

export type View = { readonly width?: number; readonly height?: number; readonly scheme?: 'light' | 'dark' }

/** A page, with the script errors and policy violations that it reported. */
export type Watched = { readonly page: Page; readonly complaints: readonly string[] }

export async function openTab(
  browser: Browser,
  { width = 1280, height = 800, scheme = 'light' }: View = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    acceptDownloads: true,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  return { page, complaints }
}
