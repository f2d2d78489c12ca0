/* SPDX-License-Identifier: MIT */
#include "base/vec.h"
#include "show/show_json.h"

/* A list instead of recursion: stacks may be thousands of frames deep. */
struct place {
        const struct query_node *node;
        uint32_t parent; /* its number */
};

static void put_node(struct json *j, const struct query *q, const struct place *p, uint32_t number,
                     enum query_metric m) {
        json_object(j);
        json_put_uint(j, "id", number);
        json_key(j, "parent");
        if (number)
                json_uint(j, p->parent);
        else
                json_null(j);
        if (p->node->is_rest)
                json_put_uint(j, "rest_of_children", p->node->n_rest);
        else if (number)
                show_put_frame(j, q, &p->node->frame, p->node->is_task);
        if (p->node->is_task) {
                json_key(j, "async");
                json_bool(j, true);
        }
        if (!query_figures_are_idle(&p->node->self)) /* most nodes only pass on */
                show_put_figures(j, "self", &p->node->self, m);
        show_put_figures(j, "total", &p->node->total, m);
        json_end(j);
}

void show_put_tree(struct json *j, const struct query *q, const struct query_tree *t) {
        static const char *const kinds[] = {"top-down", "bottom-up", "callers", "callees"};
        static const char *const merges[] = {"function", "line", "address", "asker"};
        VEC(struct place) todo = {0}; /* the next at the end */
        uint32_t number = 0;

        json_put_string(j, "kind", kinds[t->options.kind]);
        json_put_string(j, "merged_by", merges[t->options.merge]);
        json_key(j, "function");
        if (t->options.function)
                json_string(j, t->options.function);
        else
                json_null(j);
        json_put_double(j, "min_share", t->options.min_share, 6);
        json_put_uint(j, "max_depth", t->options.max_depth);
        json_key(j, "nodes"); /* parents before children, the root first */
        json_array(j);
        vec_push(&todo, (struct place){t->root, 0});
        while (todo.n) {
                struct place p = todo.items[--todo.n];

                put_node(j, q, &p, number, t->options.metric);
                for (size_t i = p.node->n_children; i-- > 0;)
                        vec_push(&todo, (struct place){&p.node->children[i], number});
                number++;
        }
        vec_free(&todo);
        json_end(j);
}
