// Opens exports in the viewers they are for, in a browser without a network: prints what it saw as JSON.
//
//     node viewers.mjs BROWSER flamegraph FILE.svg SEARCH
//     node viewers.mjs BROWSER speedscope FILE.json
import { chromium } from 'playwright-core';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [browserPath, kind, file, term] = process.argv.slice(2);
const browser = await chromium.launch({
    executablePath: browserPath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
});
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
const seen = { errors: [], requests: [] };
page.on('pageerror', (error) => seen.errors.push(String(error)));
page.on('console', (message) => message.type() === 'error' && seen.errors.push(message.text()));
page.on('dialog', (dialog) => { seen.errors.push('dialog ' + dialog.message()); dialog.dismiss(); });
page.on('request', (request) => seen.requests.push(request.url()));

const shown = () => page.evaluate(() => {
    const frames = [...document.querySelectorAll('g.f')].filter((g) => !g.classList.contains('h'));
    return frames.map((g) => {
        const rect = g.querySelector('rect').getBoundingClientRect();
        const text = g.querySelector('text');
        return {
            name: g.querySelector('title').textContent.split('\n')[0], width: rect.width, left: rect.left,
            text: text ? text.textContent : null, textWidth: text ? text.getBoundingClientRect().width : 0,
            found: g.classList.contains('s'), faded: g.classList.contains('p'), focused: g.classList.contains('k'),
        };
    });
});
const text = (id) => page.evaluate((i) => document.getElementById(i).textContent, id);

async function flamegraph() {
    await page.goto(pathToFileURL(resolve(file)).href);
    seen.elements = await page.evaluate(() => document.querySelectorAll('*').length);
    seen.before = await shown();
    await page.keyboard.press('/');
    await page.keyboard.type(term);
    await page.keyboard.press('Enter');
    seen.searched = await shown();
    seen.matched = await text('matched');
    await page.keyboard.press('Escape');
    seen.cleared = await shown();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    seen.focused = await shown();
    seen.details = await text('details');
    await page.keyboard.press('Enter');
    seen.zoomed = await shown();
    await page.keyboard.press('Escape');
    seen.after = await shown();
    await page.evaluate((name) => {
        const frame = [...document.querySelectorAll('g.f')].find((g) => g.querySelector('title').textContent.startsWith(name + '\n'));
        frame.dispatchEvent(new MouseEvent('click', { bubbles: true }));
    }, term);
    seen.clicked = await shown();
}

async function speedscope() {
    const home = join(dirname(createRequire(import.meta.url).resolve('speedscope/package.json')), 'dist', 'release');
    await page.goto(pathToFileURL(join(home, 'index.html')).href);
    await page.setInputFiles('input[type=file]', resolve(file));
    await page.waitForFunction(() => document.title.includes(' - speedscope') || document.body.innerText.includes('Sandwich'), null, { timeout: 20000 });
    await page.waitForTimeout(300);
    seen.title = await page.title();
    seen.text = await page.evaluate(() => document.body.innerText);
    await page.keyboard.press('3'); // the table of functions
    await page.waitForTimeout(300);
    seen.sandwich = await page.evaluate(() => document.body.innerText);
}

try {
    await (kind === 'flamegraph' ? flamegraph() : speedscope());
} catch (error) {
    seen.errors.push(String(error));
}
await browser.close();
console.log(JSON.stringify(seen));
