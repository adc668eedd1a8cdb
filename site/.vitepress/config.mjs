import { readFileSync } from 'node:fs'
import { headingId } from '../../tools/site/heading-id.ts'

// Made by tools/site/build.ts.
const sidebar = JSON.parse(readFileSync(new URL('../dist.pages/menu.json', import.meta.url), 'utf8'))

export default {
  title: 'Tallystick',
  description: 'A self-hosted accountability ledger for AI-agent fleets',
  lang: 'en',
  srcDir: 'dist.pages',
  outDir: 'dist',
  cacheDir: 'dist.cache',
  // The pages tell readers to open addresses of their own machine.
  ignoreDeadLinks: 'localhostLinks',
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
  /** Names the Markdown of a page beside its HTML. */
  transformHead: ({ page }) =>
    page === '404.md'
      ? []
      : [['link', { rel: 'alternate', type: 'text/markdown', href: page.split('/').at(-1) }]],
  markdown: {
    // Braces at the end of a line are text, such as `{id}` of a route.
    attrs: { disable: true },
    anchor: { slugify: headingId },
    // Shiki does not know PromQL.
    languageAlias: { promql: 'sql' },
    config(md) {
      // Pages are text: Vue must not take double braces for a program.
      const render = md.render
      md.render = (...args) => render.apply(md, args).replaceAll('{{', '&#123;&#123;')
    },
  },
}
