/* paper.c: tables "Darcy flow", "Transport-diffusion on a closed torus", "Magnetostatic response on a spherical shell", the N/F
 * comparisons, component ablations and phase-PDE correspondence (population and nine cases) of the paper, figure by figure. The
 * S_beta0 of the main Darcy C2 column and the IoU of its appendix hold the same figures for DKHO; both are given as printed. */
#include "problem/paper.h"

#include <stddef.h>
#include <string.h>

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

/* clang-format off */
static const paper_row darcy_rows[] = {
    {"p", "GNO", "N", 285.9, {{"mse", 5.673e-4}, {"rel_l2", 0.0326}, {"grad_fid", 0.9724}, {"s_beta0", 0.9589}}},
    {"p", "GNO", "F", 0, {{"mse", 1.625e-5}, {"rel_l2", 0.0058}, {"grad_fid", 0.9957}, {"s_beta0", 0.9916}}},
    {"p", "FNO", "N", 216.4, {{"mse", 0.0063}, {"rel_l2", 0.1112}, {"grad_fid", 0.6838}, {"s_beta0", 0.8027}}},
    {"p", "FNO", "F", 0, {{"mse", 0.0063}, {"rel_l2", 0.1113}, {"grad_fid", 0.6837}, {"s_beta0", 0.8018}}},
    {"p", "MGN", "N", 303.2, {{"mse", 0.0076}, {"rel_l2", 0.1176}, {"grad_fid", 0.8753}, {"s_beta0", 0.8526}}},
    {"p", "MGN", "F", 0, {{"mse", 5.984e-5}, {"rel_l2", 0.0112}, {"grad_fid", 0.9936}, {"s_beta0", 0.9823}}},
    {"p", "DeepONet", "N", 559.1, {{"mse", 2.367e-4}, {"rel_l2", 0.0218}, {"grad_fid", 0.9696}, {"s_beta0", 0.9746}}},
    {"p", "DeepONet", "F", 0, {{"mse", 1.406e-4}, {"rel_l2", 0.0167}, {"grad_fid", 0.9703}, {"s_beta0", 0.9675}}},
    {"p", "Geo-FNO", "N", 215.3, {{"mse", 0.0154}, {"rel_l2", 0.1536}, {"grad_fid", 0.9268}, {"s_beta0", 0.8626}}},
    {"p", "Geo-FNO", "F", 0, {{"mse", 0.0147}, {"rel_l2", 0.1470}, {"grad_fid", 0.9387}, {"s_beta0", 0.8563}}},
    {"p", "HSD", "N", 200.4, {{"mse", 3.755e-4}, {"rel_l2", 0.0274}, {"grad_fid", 0.9360}, {"s_beta0", 0.9574}}},
    {"p", "HSD", "F", 0, {{"mse", 2.086e-4}, {"rel_l2", 0.0204}, {"grad_fid", 0.9584}, {"s_beta0", 0.9574}}},
    {"p", "DKHO-small", "", 64.121, {{"mse", 8.369e-6}, {"rel_l2", 0.0042}, {"grad_fid", 0.9985}, {"s_beta0", 0.9889}}},
    {"p", "DKHO-large", "", 242.657, {{"mse", 5.940e-6}, {"rel_l2", 0.0035}, {"grad_fid", 0.9989}, {"s_beta0", 0.9922}}},
    {"q", "GNO", "N", 285.9, {{"mse", 9.834e-5}, {"rel_l2", 0.1129}, {"codiff_fid", 0.9915}, {"curl_fid", 0.9926}}},
    {"q", "GNO", "F", 0, {{"mse", 1.893e-5}, {"rel_l2", 0.0511}, {"codiff_fid", 0.9968}, {"curl_fid", 0.9964}}},
    {"q", "FNO", "N", 216.4, {{"mse", 0.0071}, {"rel_l2", 0.9736}, {"codiff_fid", 0.6018}, {"curl_fid", 0.5066}}},
    {"q", "FNO", "F", 0, {{"mse", 0.0071}, {"rel_l2", 0.9736}, {"codiff_fid", 0.6019}, {"curl_fid", 0.5066}}},
    {"q", "MGN", "N", 303.2, {{"mse", 4.724e-4}, {"rel_l2", 0.2422}, {"codiff_fid", 0.9842}, {"curl_fid", 0.9865}}},
    {"q", "MGN", "F", 0, {{"mse", 1.067e-5}, {"rel_l2", 0.0390}, {"codiff_fid", 0.9984}, {"curl_fid", 0.9982}}},
    {"q", "DeepONet", "N", 559.1, {{"mse", 0.0067}, {"rel_l2", 0.9459}, {"codiff_fid", 0.6483}, {"curl_fid", 0.5133}}},
    {"q", "DeepONet", "F", 0, {{"mse", 0.0069}, {"rel_l2", 0.9561}, {"codiff_fid", 0.6752}, {"curl_fid", 0.5116}}},
    {"q", "Geo-FNO", "N", 215.3, {{"mse", 0.0066}, {"rel_l2", 0.9384}, {"codiff_fid", 0.6430}, {"curl_fid", 0.5119}}},
    {"q", "Geo-FNO", "F", 0, {{"mse", 0.0069}, {"rel_l2", 0.9591}, {"codiff_fid", 0.6466}, {"curl_fid", 0.5116}}},
    {"q", "HSD", "N", 200.4, {{"mse", 0.0044}, {"rel_l2", 0.7624}, {"codiff_fid", 0.7079}, {"curl_fid", 0.5169}}},
    {"q", "HSD", "F", 0, {{"mse", 0.0047}, {"rel_l2", 0.7858}, {"codiff_fid", 0.6668}, {"curl_fid", 0.5092}}},
    {"q", "DKHO-small", "", 64.475, {{"mse", 5.107e-6}, {"rel_l2", 0.0264}, {"codiff_fid", 0.9990}, {"curl_fid", 0.9986}}},
    {"q", "DKHO-large", "", 243.363, {{"mse", 1.688e-6}, {"rel_l2", 0.0155}, {"codiff_fid", 0.9997}, {"curl_fid", 0.9996}}},
    {"w", "GNO", "N", 285.9, {{"mse", 2.793e-5}, {"rel_l2", 0.1104}, {"coboundary_fid", 0.9967}, {"s_beta0", 0.8775}}},
    {"w", "GNO", "F", 0, {{"mse", 2.938e-6}, {"rel_l2", 0.0371}, {"coboundary_fid", 0.9996}, {"iou", 0.9861}}},
    {"w", "FNO", "N", 216.4, {{"mse", 0.0022}, {"rel_l2", 0.9948}, {"coboundary_fid", 0.5460}, {"s_beta0", 0.3952}}},
    {"w", "FNO", "F", 0, {{"mse", 0.0022}, {"rel_l2", 0.9948}, {"coboundary_fid", 0.5460}, {"iou", 0.6062}}},
    {"w", "MGN", "N", 303.2, {{"mse", 1.420e-4}, {"rel_l2", 0.2420}, {"coboundary_fid", 0.9882}, {"s_beta0", 0.7201}}},
    {"w", "MGN", "F", 0, {{"mse", 3.029e-6}, {"rel_l2", 0.0379}, {"coboundary_fid", 0.9996}, {"iou", 0.9835}}},
    {"w", "DeepONet", "N", 559.1, {{"mse", 0.0023}, {"rel_l2", 0.9983}, {"coboundary_fid", 0.5171}, {"s_beta0", 0.3970}}},
    {"w", "DeepONet", "F", 0, {{"mse", 0.0023}, {"rel_l2", 0.9990}, {"coboundary_fid", 0.5146}, {"iou", 0.5986}}},
    {"w", "Geo-FNO", "N", 215.3, {{"mse", 0.0021}, {"rel_l2", 0.9581}, {"coboundary_fid", 0.6249}, {"s_beta0", 0.4099}}},
    {"w", "Geo-FNO", "F", 0, {{"mse", 0.0021}, {"rel_l2", 0.9660}, {"coboundary_fid", 0.6095}, {"iou", 0.6273}}},
    {"w", "HSD", "N", 200.4, {{"mse", 0.0022}, {"rel_l2", 0.9786}, {"coboundary_fid", 0.5837}, {"s_beta0", 0.4050}}},
    {"w", "HSD", "F", 0, {{"mse", 0.0022}, {"rel_l2", 0.9735}, {"coboundary_fid", 0.5937}, {"iou", 0.6252}}},
    {"w", "DKHO-small", "", 64.121, {{"mse", 3.359e-6}, {"rel_l2", 0.0392}, {"coboundary_fid", 0.9996}, {"s_beta0", 0.9848}, {"iou", 0.9848}}},
    {"w", "DKHO-large", "", 242.657, {{"mse", 1.242e-6}, {"rel_l2", 0.0244}, {"coboundary_fid", 0.9998}, {"s_beta0", 0.9905}, {"iou", 0.9905}}},
};
static const paper_row torus_rows[] = {
    {"u", "GNO", "N", 285.9, {{"mse", 0.0417}, {"rel_l2", 0.4093}, {"grad_fid", 0.6537}, {"s_beta0", 0.4891}}},
    {"u", "GNO", "F", 0, {{"mse", 0.0153}, {"rel_l2", 0.2075}, {"grad_fid", 0.8024}, {"iou", 0.8097}}},
    {"u", "FNO", "N", 262.8, {{"mse", 0.0171}, {"rel_l2", 0.2440}, {"grad_fid", 0.7353}, {"s_beta0", 0.6571}}},
    {"u", "FNO", "F", 0, {{"mse", 0.1170}, {"rel_l2", 0.5917}, {"grad_fid", 0.6326}, {"iou", 0.5052}}},
    {"u", "MGN", "N", 303.2, {{"mse", 0.0224}, {"rel_l2", 0.2849}, {"grad_fid", 0.7406}, {"s_beta0", 0.6708}}},
    {"u", "MGN", "F", 0, {{"mse", 0.0120}, {"rel_l2", 0.1790}, {"grad_fid", 0.8280}, {"iou", 0.8423}}},
    {"u", "DeepONet", "N", 273.2, {{"mse", 0.0513}, {"rel_l2", 0.4578}, {"grad_fid", 0.5550}, {"s_beta0", 0.4199}}},
    {"u", "DeepONet", "F", 0, {{"mse", 0.0811}, {"rel_l2", 0.5918}, {"grad_fid", 0.5197}, {"iou", 0.4685}}},
    {"u", "Geo-FNO", "N", 220.0, {{"mse", 0.0343}, {"rel_l2", 0.3681}, {"grad_fid", 0.6693}, {"s_beta0", 0.4782}}},
    {"u", "Geo-FNO", "F", 0, {{"mse", 0.0172}, {"rel_l2", 0.2478}, {"grad_fid", 0.7922}, {"iou", 0.7710}}},
    {"u", "HSD", "N", 241.0, {{"mse", 0.0375}, {"rel_l2", 0.3613}, {"grad_fid", 0.7600}, {"s_beta0", 0.5976}}},
    {"u", "HSD", "F", 0, {{"mse", 1.2759}, {"rel_l2", 1.6959}, {"grad_fid", 0.6012}, {"iou", 0.3397}}},
    {"u", "DKHO-small", "", 63.546, {{"mse", 0.0084}, {"rel_l2", 0.1428}, {"grad_fid", 0.8440}, {"s_beta0", 0.8083}, {"iou", 0.8776}}},
    {"u", "DKHO-large", "", 241.506, {{"mse", 0.0083}, {"rel_l2", 0.1413}, {"grad_fid", 0.8472}, {"s_beta0", 0.8133}, {"iou", 0.8798}}},
    {"q", "GNO", "N", 285.9, {{"mse", 3.604e-4}, {"rel_l2", 0.3753}, {"curl_fid", 0.5605}, {"energy_fid", 0.8660}}},
    {"q", "GNO", "F", 0, {{"mse", 3.995e-4}, {"rel_l2", 0.3923}, {"codiff_fid", 0.8111}, {"curl_fid", 0.5585}}},
    {"q", "FNO", "N", 262.8, {{"mse", 0.0013}, {"rel_l2", 0.6687}, {"curl_fid", 0.5116}, {"energy_fid", 0.6243}}},
    {"q", "FNO", "F", 0, {{"mse", 0.0013}, {"rel_l2", 0.6687}, {"codiff_fid", 0.6929}, {"curl_fid", 0.5116}}},
    {"q", "MGN", "N", 303.2, {{"mse", 7.284e-5}, {"rel_l2", 0.1581}, {"curl_fid", 0.7160}, {"energy_fid", 0.9721}}},
    {"q", "MGN", "F", 0, {{"mse", 7.779e-5}, {"rel_l2", 0.1660}, {"codiff_fid", 0.9338}, {"curl_fid", 0.7038}}},
    {"q", "DeepONet", "N", 273.2, {{"mse", 0.0013}, {"rel_l2", 0.6891}, {"curl_fid", 0.5094}, {"energy_fid", 0.6007}}},
    {"q", "DeepONet", "F", 0, {{"mse", 0.0013}, {"rel_l2", 0.6691}, {"codiff_fid", 0.6512}, {"curl_fid", 0.5115}}},
    {"q", "Geo-FNO", "N", 220.0, {{"mse", 0.0014}, {"rel_l2", 0.7077}, {"curl_fid", 0.5085}, {"energy_fid", 0.5816}}},
    {"q", "Geo-FNO", "F", 0, {{"mse", 0.0014}, {"rel_l2", 0.7141}, {"codiff_fid", 0.6289}, {"curl_fid", 0.5076}}},
    {"q", "HSD", "N", 241.0, {{"mse", 2.787e-4}, {"rel_l2", 0.3673}, {"curl_fid", 0.5542}, {"energy_fid", 0.8623}}},
    {"q", "HSD", "F", 0, {{"mse", 2.721e-4}, {"rel_l2", 0.3622}, {"codiff_fid", 0.7330}, {"curl_fid", 0.5547}}},
    {"q", "DKHO-small", "", 64.347, {{"mse", 5.334e-5}, {"rel_l2", 0.1310}, {"codiff_fid", 0.9615}, {"curl_fid", 0.8026}, {"energy_fid", 0.9750}}},
    {"q", "DKHO-large", "", 243.107, {{"mse", 5.142e-5}, {"rel_l2", 0.1262}, {"codiff_fid", 0.9633}, {"curl_fid", 0.8187}, {"energy_fid", 0.9758}}},
    {"m", "GNO", "N", 285.9, {{"mse", 1.255e-7}, {"rel_l2", 0.2154}, {"coboundary_fid", 0.8877}, {"s_beta0", 0.6500}}},
    {"m", "GNO", "F", 0, {{"mse", 1.209e-7}, {"rel_l2", 0.2122}, {"coboundary_fid", 0.9016}, {"iou", 0.8258}}},
    {"m", "FNO", "N", 262.8, {{"mse", 4.796e-7}, {"rel_l2", 0.4175}, {"coboundary_fid", 0.6176}, {"s_beta0", 0.3892}}},
    {"m", "FNO", "F", 0, {{"mse", 4.791e-7}, {"rel_l2", 0.4172}, {"coboundary_fid", 0.6174}, {"iou", 0.5990}}},
    {"m", "MGN", "N", 303.2, {{"mse", 4.842e-8}, {"rel_l2", 0.1139}, {"coboundary_fid", 0.9567}, {"s_beta0", 0.7102}}},
    {"m", "MGN", "F", 0, {{"mse", 5.672e-8}, {"rel_l2", 0.1252}, {"coboundary_fid", 0.9398}, {"iou", 0.8872}}},
    {"m", "DeepONet", "N", 273.2, {{"mse", 5.160e-7}, {"rel_l2", 0.4631}, {"coboundary_fid", 0.6483}, {"s_beta0", 0.2996}}},
    {"m", "DeepONet", "F", 0, {{"mse", 4.090e-7}, {"rel_l2", 0.4091}, {"coboundary_fid", 0.6665}, {"iou", 0.6033}}},
    {"m", "Geo-FNO", "N", 220.0, {{"mse", 5.669e-7}, {"rel_l2", 0.4879}, {"coboundary_fid", 0.6456}, {"s_beta0", 0.3037}}},
    {"m", "Geo-FNO", "F", 0, {{"mse", 5.519e-7}, {"rel_l2", 0.4807}, {"coboundary_fid", 0.6493}, {"iou", 0.5759}}},
    {"m", "HSD", "N", 241.0, {{"mse", 3.621e-7}, {"rel_l2", 0.3699}, {"coboundary_fid", 0.6430}, {"s_beta0", 0.4431}}},
    {"m", "HSD", "F", 0, {{"mse", 3.521e-7}, {"rel_l2", 0.3640}, {"coboundary_fid", 0.6426}, {"iou", 0.6274}}},
    {"m", "DKHO-small", "", 64.314, {{"mse", 4.611e-8}, {"rel_l2", 0.1142}, {"coboundary_fid", 0.9666}, {"s_beta0", 0.7518}, {"iou", 0.9117}}},
    {"m", "DKHO-large", "", 243.042, {{"mse", 3.996e-8}, {"rel_l2", 0.1007}, {"coboundary_fid", 0.9737}, {"s_beta0", 0.7736}, {"iou", 0.9267}}},
};
static const paper_row cavity_rows[] = {
    {"B", "GNO", "N", 231.5, {{"mse", 2.30e-3}, {"rel_l2", 1.1030}, {"energy_fid", 0.3714}, {"iou", 0.1400}, {"div_fid", 0.5673}, {"curl_mse", 1.5409}, {"vort_fid", 0.4970}, {"enst_fid", 0.2387}}},
    {"B", "GNO", "F", 0, {{"mse", 1.374e-6}, {"rel_l2", 0.0190}, {"iou", 0.9585}, {"div_fid", 0.9996}}},
    {"B", "FNO", "N", 227.4, {{"mse", 4.587e-5}, {"rel_l2", 0.1189}, {"energy_fid", 0.9053}, {"iou", 0.7242}, {"div_fid", 0.9887}, {"curl_mse", 1.93e-2}, {"vort_fid", 0.9098}, {"enst_fid", 0.8721}}},
    {"B", "FNO", "F", 0, {{"mse", 8.932e-6}, {"rel_l2", 0.0619}, {"iou", 0.7948}, {"div_fid", 0.9979}}},
    {"B", "MGN", "N", 246.6, {{"mse", 1.658e-4}, {"rel_l2", 0.2532}, {"energy_fid", 0.8752}, {"iou", 0.5555}, {"div_fid", 0.9590}, {"curl_mse", 6.10e-2}, {"vort_fid", 0.8008}, {"enst_fid", 0.6970}}},
    {"B", "MGN", "F", 0, {{"mse", 1.331e-6}, {"rel_l2", 0.0219}, {"iou", 0.9328}, {"div_fid", 0.9997}}},
    {"B", "DeepONet", "N", 238.9, {{"mse", 1.069e-5}, {"rel_l2", 0.0814}, {"energy_fid", 0.9661}, {"iou", 0.7984}, {"div_fid", 0.9967}, {"curl_mse", 1.07e-2}, {"vort_fid", 0.9361}, {"enst_fid", 0.8356}}},
    {"B", "DeepONet", "F", 0, {{"mse", 5.792e-6}, {"rel_l2", 0.0475}, {"iou", 0.8901}, {"div_fid", 0.9983}}},
    {"B", "Geo-FNO", "N", 252.7, {{"mse", 4.229e-5}, {"rel_l2", 0.1152}, {"energy_fid", 0.9091}, {"iou", 0.7234}, {"div_fid", 0.9895}, {"curl_mse", 1.61e-2}, {"vort_fid", 0.9236}, {"enst_fid", 0.8870}}},
    {"B", "Geo-FNO", "F", 0, {{"mse", 9.891e-6}, {"rel_l2", 0.0574}, {"iou", 0.7928}, {"div_fid", 0.9975}}},
    {"B", "HSD", "N", 265.4, {{"mse", 7.198e-6}, {"rel_l2", 0.0547}, {"energy_fid", 0.9681}, {"iou", 0.8268}, {"div_fid", 0.9981}, {"curl_mse", 7.03e-3}, {"vort_fid", 0.9675}, {"enst_fid", 0.9513}}},
    {"B", "HSD", "F", 0, {{"mse", 1.522e-4}, {"rel_l2", 0.2156}, {"iou", 0.7608}, {"div_fid", 0.9601}}},
    {"B", "DKHO-small", "", 64.542, {{"mse", 1.302e-6}, {"rel_l2", 0.0179}, {"energy_fid", 0.9914}, {"iou", 0.9650}, {"div_fid", 0.9996}, {"curl_mse", 5.36e-4}, {"vort_fid", 0.9975}, {"enst_fid", 0.9875}}},
    {"B", "DKHO-large", "", 243.494, {{"mse", 9.108e-7}, {"rel_l2", 0.0140}, {"energy_fid", 0.9940}, {"iou", 0.9724}, {"div_fid", 0.9997}, {"curl_mse", 3.92e-4}, {"vort_fid", 0.9983}, {"enst_fid", 0.9913}}},
};
/* clang-format on */

static const paper_ablation darcy_ablations[] = {
    {"p", 0.0144, 0.0062, 0}, {"q", 0.1124, 0.0407, 0.0310}, {"w", 0.4698, 0.0484, 0}};
const paper_results paper_darcy = {
    COUNT(darcy_rows),
    darcy_rows,
    COUNT(darcy_ablations),
    darcy_ablations,
    {"w",
     {0.500, 0.048},
     {0.505, 0.028},
     2.11,
     {1.45, 0.02},
     0.240,
     1,
     {{0.524, 2.18, 1.47, 0.541, 0.0197}, {0.512, 2.13, 1.46, 0.510, 0.0195}, {0.506, 2.11, 1.46, 0.498, 0.0164}}}};

static const paper_ablation torus_ablations[] = {
    {"u", 0.2877, 0.1518, 0.1465}, {"q", 0.3104, 0.1469, 0.1355}, {"m", 0.4072, 0.1229, 0.1688}};
const paper_results paper_torus = {
    COUNT(torus_rows),
    torus_rows,
    COUNT(torus_ablations),
    torus_ablations,
    {"q",
     {0.631, 0.123},
     {0.514, 0.102},
     2.57,
     {1.64, 0.46},
     0.200,
     1,
     {{0.700, 3.50, 2.98, 0.745, 0.1166}, {0.663, 3.32, 1.98, 0.800, 0.0752}, {0.653, 3.26, 2.04, 0.792, 0.0874}}}};

static const paper_ablation cavity_ablations[] = {{"B", 0.0279, 0.0304, 0.0251}};
const paper_results paper_cavity = {
    COUNT(cavity_rows),
    cavity_rows,
    COUNT(cavity_ablations),
    cavity_ablations,
    {"B",
     {-0.136, 0.050},
     {0.582, 0.033},
     3.23,
     {2.02, 0.21},
     0.180,
     1,
     {{0.523, 2.91, 2.02, -0.093, 0.0068}, {0.519, 2.89, 2.00, -0.108, 0.0076}, {0.584, 3.24, 1.93, -0.138, 0.0067}}}};

const paper_ablation *paper_ablation_of(const paper_results *p, const char *target) {
  for (int i = 0; p && i < p->ablations; i++)
    if (strcmp(p->ablation[i].target, target) == 0) return &p->ablation[i];
  return NULL;
}
