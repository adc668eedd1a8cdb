import { readFileSync } from 'node:fs'
import { headingId } from '../../tools/site/heading-id.ts'

// tools/site/build.ts makes this file.
const sidebar = JSON.parse(readFileSync(new URL('../dist.pages/menu.json', import.meta.url), 'utf8'))

export default {
  title: 'Tallystick',
  description: 'A self-hosted accountability ledger for AI-agent fleets',
  lang: 'en',
  srcDir: 'dist.pages',
  outDir: 'dist',
  cacheDir: 'dist.cache',
  // Some pages link to addresses on the reader's own machine.
  ignoreDeadLinks: 'localhostLinks',
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
  /** Adds a link from each HTML page to its Markdown file. */
  transformHead: ({ page }) =>
    page === '404.md'
      ? []
      : [['link', { rel: 'alternate', type: 'text/markdown', href: page.split('/').at(-1) }]],
  markdown: {
    // Disabled, because braces at the end of a line are plain text, such as `{id}` of a route.
    attrs: { disable: true },
    anchor: { slugify: headingId },
    // Shiki does not know PromQL.
    languageAlias: { promql: 'sql' },
    config(md) {
      // Escapes double braces, because Vue would run their content as code.
      const render = md.render
      md.render = (...args) => render.apply(md, args).replaceAll('{{', '&#123;&#123;')
    },
  },
}
